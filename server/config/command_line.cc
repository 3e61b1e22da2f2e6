#include "server/config/command_line.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config/nearest_name.h"
#include "server/config/setting.h"

namespace counter {
namespace {

const Setting* FindFlag(absl::string_view flag) {
  for (const Setting& setting : Settings()) {
    if (setting.flag() == flag) return &setting;
  }
  return nullptr;
}

std::vector<std::string> FlagNames() {
  std::vector<std::string> names = {"--help", "--version", "--markdown"};
  for (const Setting& setting : Settings()) names.push_back(setting.flag());
  return names;
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 100)), "\"");
}

std::string Unknown(absl::string_view what, absl::string_view text,
                    const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = NearestName(text, known);
  return absl::StrCat("unknown ", what, " ", Quoted(text),
                      nearest.has_value() ? absl::StrCat("; did you mean ", *nearest, "?")
                                          : "; see counterd --help");
}

bool IsBool(const Setting& setting) {
  return std::holds_alternative<bool Config::*>(setting.field);
}

// Words left to read.
class Words {
 public:
  Words(int argc, const char* const* argv) : words_(argv + (argc > 0 ? 1 : 0), argv + argc) {}

  bool at_end() const { return next_ == words_.size(); }
  absl::string_view Take() { return words_[next_++]; }
  // The next word, if it can be the value of a flag.
  std::optional<absl::string_view> TakeValue() {
    if (at_end() || absl::StartsWith(words_[next_], "--")) return std::nullopt;
    return Take();
  }

  bool NextIsBool() const {
    static constexpr absl::string_view kBools[] = {"true",  "yes", "on",  "1",
                                                   "false", "no",  "off", "0"};
    return !at_end() &&
           std::find(std::begin(kBools), std::end(kBools), words_[next_]) != std::end(kBools);
  }

 private:
  std::vector<absl::string_view> words_;
  size_t next_ = 0;
};

class Reader {
 public:
  Reader(int argc, const char* const* argv) : words_(argc, argv) {}

  void Run() {
    while (!words_.at_end()) {
      const absl::string_view word = words_.Take();
      if (word == "-h" || word == "--help") {
        help = true;
      } else if (word == "--version") {
        SetCommand(Command::kVersion, word);
      } else if (word == "--markdown") {
        markdown = true;
      } else if (absl::StartsWith(word, "--")) {
        ReadFlag(word);
      } else if (absl::StartsWith(word, "-")) {
        faults.push_back(Unknown("flag", word, FlagNames()));
      } else {
        ReadCommand(word);
      }
    }
    if (markdown && command != Command::kConfig) {
      faults.push_back("--markdown belongs to the command config: counterd config --markdown");
    }
  }

  std::optional<Command> command;
  bool help = false;
  bool markdown = false;
  ConfigSources sources;
  std::vector<std::string> faults;

 private:
  void SetCommand(Command value, absl::string_view word) {
    if (command.has_value() && command != value) {
      faults.push_back(absl::StrCat("a second command ", Quoted(word), "; expected one"));
    }
    command = value;
  }

  void ReadCommand(absl::string_view word) {
    if (word == "serve") {
      SetCommand(Command::kServe, word);
    } else if (word == "config") {
      SetCommand(Command::kConfig, word);
    } else if (word == "migrate") {
      ReadMigrate();
    } else if (word == "version") {
      SetCommand(Command::kVersion, word);
    } else if (word == "help") {
      help = true;
    } else {
      faults.push_back(Unknown("command", word, {"serve", "config", "migrate", "version", "help"}));
    }
  }

  // What to do follows the command: `counterd migrate up`.
  void ReadMigrate() {
    const absl::string_view what = words_.at_end() ? "" : words_.Take();
    if (what == "up") {
      SetCommand(Command::kMigrateUp, "migrate up");
    } else if (what == "status") {
      SetCommand(Command::kMigrateStatus, "migrate status");
    } else {
      faults.push_back(absl::StrCat("expected `migrate up` or `migrate status`, got ", Quoted(what),
                                    " after migrate"));
    }
  }

  void ReadFlag(absl::string_view word) {
    const size_t equals = word.find('=');
    const absl::string_view name = word.substr(0, equals);
    const Setting* const setting = FindFlag(name);
    if (setting == nullptr) {
      // The value may be a secret, and is no command: it goes unseen.
      if (equals == absl::string_view::npos) words_.TakeValue();
      faults.push_back(Unknown("flag", name, FlagNames()));
      return;
    }
    std::optional<absl::string_view> value;
    if (equals != absl::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (IsBool(*setting)) {
      value = words_.NextIsBool() ? words_.Take() : "true";
    } else {
      value = words_.TakeValue();
    }
    if (!value.has_value()) {
      faults.push_back(
          absl::StrCat("flag ", name, " has no value; expected ", setting->expected()));
      return;
    }
    sources.flags.emplace_back(std::string(setting->name), std::string(*value));
  }

  Words words_;
};

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const Environment& environment) {
  Reader reader(argc, argv);
  reader.Run();
  CommandLine line;
  // Who asks for help gets it, whatever else is on the line.
  if (reader.help) {
    line.command = Command::kHelp;
    return line;
  }
  line.command = reader.command.value_or(Command::kServe);
  const bool reads_settings =
      line.command != Command::kVersion && (line.command != Command::kConfig || !reader.markdown);
  if (!reads_settings && reader.faults.empty()) {
    if (reader.markdown) line.command = Command::kConfigMarkdown;
    return line;
  }
  reader.sources.environment = environment;
  reader.sources.listens =
      line.command != Command::kMigrateUp && line.command != Command::kMigrateStatus;
  absl::StatusOr<LoadedConfig> loaded = LoadConfig(reader.sources, std::move(reader.faults));
  if (!loaded.ok()) return loaded.status();
  line.loaded = *std::move(loaded);
  return line;
}

}  // namespace counter
