#include "clients/cli/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace counter::cli {
namespace {

std::string Names(const std::vector<CompletionWord>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const CompletionWord& word) {
    absl::StrAppend(out, word.name);
  });
}

// Inside single quotes of a shell.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string Bash(const std::vector<CompletionWord>& commands,
                 const std::vector<CompletionWord>& options) {
  return absl::StrCat(R"(# counterctl completion bash > /etc/bash_completion.d/counterctl
_counterctl() {
  local word=${COMP_WORDS[COMP_CWORD]} commands=')",
                      Names(commands), R"(' options=')", Names(options), R"('
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " == *" import "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
  fi
}
complete -F _counterctl counterctl
)");
}

std::string Zsh(const std::vector<CompletionWord>& commands,
                const std::vector<CompletionWord>& options) {
  std::string script = "#compdef counterctl\n# counterctl completion zsh > a folder of $fpath\n";
  const auto list = [&script](const char* name, const std::vector<CompletionWord>& words) {
    absl::StrAppend(&script, "local -a ", name, "=(\n");
    for (const CompletionWord& word : words)
      absl::StrAppend(&script, "  ", Quoted(absl::StrCat(word.name, ":", word.help)), "\n");
    absl::StrAppend(&script, ")\n");
  };
  list("commands", commands);
  list("options", options);
  return absl::StrCat(script, R"(if [[ $words[CURRENT] == -* ]]; then
  _describe option options
elif (( ${words[(I)import]} )); then
  _files
else
  _describe command commands
fi
)");
}

std::string Fish(const std::vector<CompletionWord>& commands,
                 const std::vector<CompletionWord>& options) {
  std::string script =
      "# counterctl completion fish > ~/.config/fish/completions/counterctl.fish\n"
      "complete -c counterctl -f\n"
      "complete -c counterctl -n '__fish_seen_subcommand_from import' -F\n";
  for (const CompletionWord& word : commands)
    absl::StrAppend(&script, "complete -c counterctl -n __fish_use_subcommand -a ", word.name,
                    " -d ", Quoted(word.help), "\n");
  for (const CompletionWord& word : options)
    absl::StrAppend(&script, "complete -c counterctl -l ", word.name.substr(2), " -d ",
                    Quoted(word.help), "\n");
  return script;
}

}  // namespace

std::string CompletionScript(const std::string& shell, const std::vector<CompletionWord>& commands,
                             const std::vector<CompletionWord>& options) {
  if (shell == "zsh") return Zsh(commands, options);
  if (shell == "fish") return Fish(commands, options);
  return Bash(commands, options);
}

}  // namespace counter::cli
