#include "server/config/print.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/config/setting.h"

namespace counter {
namespace {

constexpr absl::string_view kUsage =
    R"(counterd: the like counter that other services call over gRPC.

Usage: counterd [command] [flags]

Commands:
  serve      Serve until SIGTERM or SIGINT (the default).
  config     Print the effective settings and where each came from, without secrets;
             with --markdown the page docs/configuration.md.
  migrate    Make the schema in the PostgreSQL of DATABASE_URL: `migrate up` brings it to what this
             version needs, `migrate status` says what is missing (exit status 1 if anything is).
  version    Print the version.
  help       Print this.

A setting is taken from its flag (--grpc-listen 127.0.0.1:50051), else from the environment
(GRPC_LISTEN), else from the file that --config-file names (GRPC_LISTEN = 127.0.0.1:50051), else
it has its default.
)";

constexpr absl::string_view kMarkdownHead = R"(# Configuration

<!-- Made by `counterd config --markdown` from the table in server/config/setting_table.h; a test
     compares the two. Do not edit. -->

A setting is taken from the first of these that has it:

1. its flag: `counterd --grpc-listen 127.0.0.1:50051` (or `--grpc-listen=127.0.0.1:50051`); of
   several, the last counts;
2. the environment: `GRPC_LISTEN=127.0.0.1:50051 counterd`;
3. the file that `--config-file` or `CONFIG_FILE` names, with lines `GRPC_LISTEN = 127.0.0.1:50051`;
   `#` begins a comment at the start of a line and after a blank; there are no quotes;
4. its default.

Numbers are whole and in digits. `true`, `yes`, `on`, `1` and `false`, `no`, `off`, `0` are the
values of a switch; its flag alone means `true`.

The server refuses to start on a value that it cannot use and on an unknown flag or name in the file;
it names every fault at once. An environment variable that is one letter off a setting is warned of.
`counterd config` prints what counts and where it came from; passwords are hidden.
)";

// Breaks at blanks; a word longer than the width stays whole.
std::string Wrapped(absl::string_view text, absl::string_view indent, size_t width) {
  std::string out;
  std::string line;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      absl::StrAppend(&out, indent, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "" : " ", word);
  }
  absl::StrAppend(&out, indent, line, "\n");
  return out;
}

std::string ShownDefault(const Setting& setting) {
  return setting.default_text.empty() ? "(empty)" : std::string(setting.default_text);
}

// A table's cell may not hold its own border.
std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

// ShowValue quotes; the file has no quotes.
absl::string_view Unquoted(absl::string_view shown) {
  const bool quoted = shown.size() >= 2 && shown.front() == '"' && shown.back() == '"';
  return quoted ? shown.substr(1, shown.size() - 2) : shown;
}

}  // namespace

std::string FormatHelp() {
  std::string out(kUsage);
  absl::string_view group;
  for (const Setting& setting : Settings()) {
    if (setting.group != group) absl::StrAppend(&out, "\n", setting.group, ":\n");
    group = setting.group;
    absl::StrAppendFormat(&out, "  %-30s default %s\n", setting.flag(), ShownDefault(setting));
    absl::StrAppend(&out, Wrapped(setting.help, "      ", 100),
                    Wrapped(absl::StrCat("Expected: ", setting.expected(), "."), "      ", 100));
  }
  return out;
}

std::string FormatConfig(const LoadedConfig& loaded) {
  size_t width = 0;
  std::vector<std::string> left;
  for (const EffectiveSetting& effective : loaded.effective) {
    left.push_back(absl::StrCat(effective.setting->name, " = ", Unquoted(effective.shown)));
    width = std::max(width, std::min<size_t>(left.back().size(), 60));
  }
  std::string out;
  for (size_t i = 0; i < left.size(); ++i) {
    absl::StrAppendFormat(&out, "%-*s  # %s\n", static_cast<int>(width), left[i],
                          loaded.effective[i].source);
  }
  return out;
}

std::string SummarizeConfig(const LoadedConfig& loaded) {
  std::string out;
  for (const EffectiveSetting& effective : loaded.effective) {
    if (effective.source == "default") continue;
    absl::StrAppend(&out, out.empty() ? "" : " ", effective.setting->name, "=",
                    Unquoted(effective.shown));
  }
  return out.empty() ? "defaults" : out;
}

std::string FormatMarkdown() {
  std::string out(kMarkdownHead);
  absl::string_view group;
  for (const Setting& setting : Settings()) {
    if (setting.group != group) {
      absl::StrAppend(&out, "\n## ", setting.group, "\n\n| setting, flag | default | meaning |\n",
                      "|---|---|---|\n");
    }
    group = setting.group;
    const std::string shown_default =
        setting.default_text.empty() ? "empty" : absl::StrCat("`", setting.default_text, "`");
    absl::StrAppend(&out, "| `", setting.name, "`<br>`", setting.flag(), "` | ", shown_default,
                    " | ", Cell(setting.help), " Expected: ", Cell(setting.expected()), ". |\n");
  }
  return out;
}

}  // namespace counter
