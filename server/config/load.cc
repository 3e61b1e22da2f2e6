#include "server/config/load.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/config/config_file.h"
#include "server/config/nearest_name.h"
#include "server/config/value.h"

extern char** environ;

namespace counter {
namespace {

constexpr absl::string_view kConfigFile = "CONFIG_FILE";

struct GivenValue {
  std::string text;
  std::string source;
};
// By the name of the setting.
using GivenValues = std::map<std::string, GivenValue>;

std::vector<std::string> SettingNames() {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) names.emplace_back(setting.name);
  return names;
}

std::string DidYouMean(const std::optional<std::string>& nearest) {
  return nearest.has_value() ? absl::StrCat("; did you mean ", *nearest, "?") : "";
}

std::string Fault(const Setting& setting, const GivenValue& given, absl::string_view problem) {
  return absl::StrCat(setting.name, " = ", ShowValue(setting, given.text), " (", given.source,
                      "): ", problem, "; expected ", setting.expected());
}

void TakeFlags(const ConfigSources& sources, GivenValues& given) {
  for (const auto& [name, text] : sources.flags) {
    given[name] = {text, absl::StrCat("flag ", FindSetting(name)->flag())};
  }
}

void TakeEnvironment(const ConfigSources& sources, GivenValues& given) {
  for (const Setting& setting : Settings()) {
    const std::string name(setting.name);
    const auto variable = sources.environment.find(name);
    if (variable != sources.environment.end()) {
      given.try_emplace(name, GivenValue{variable->second, "environment"});
    }
  }
}

void TakeFile(GivenValues& given, std::vector<std::string>& faults) {
  const auto file = given.find(std::string(kConfigFile));
  if (file == given.end() || file->second.text.empty()) return;
  const std::string path = file->second.text;
  const absl::StatusOr<std::string> text = ReadConfigFile(path);
  if (!text.ok()) {
    const Setting& setting = *FindSetting(kConfigFile);
    faults.push_back(absl::StrCat(kConfigFile, " = ", ShowValue(setting, path), " (",
                                  file->second.source, "): ", text.status().message(),
                                  "; expected a readable file"));
    return;
  }
  const ParsedConfigFile parsed = ParseConfigFile(*text);
  const std::string shown_path = absl::CHexEscape(path);
  // Such a line may hold anything, a password too: only its number is shown.
  for (const int line : parsed.bad_lines) {
    faults.push_back(absl::StrCat("file ", shown_path, " line ", line, ": expected NAME = value"));
  }
  std::map<std::string, int> first_lines;
  for (const FileSetting& setting : parsed.settings) {
    const std::string source = absl::StrCat("file ", shown_path, " line ", setting.line);
    if (setting.name == kConfigFile) {
      faults.push_back(absl::StrCat(source, ": CONFIG_FILE cannot be set in the file itself"));
    } else if (FindSetting(setting.name) == nullptr) {
      faults.push_back(absl::StrCat(source, ": unknown setting \"",
                                    absl::CHexEscape(setting.name.substr(0, 100)), "\"",
                                    DidYouMean(NearestName(setting.name, SettingNames()))));
    } else if (const auto [first, is_new] = first_lines.emplace(setting.name, setting.line);
               !is_new) {
      faults.push_back(
          absl::StrCat(source, ": ", setting.name, " was set in line ", first->second, " already"));
    } else {
      given.try_emplace(setting.name, GivenValue{setting.value, source});
    }
  }
}

// Other programs' variables are none of our business, but one letter off one of ours is a mistake.
std::vector<std::string> NearMisses(const Environment& environment) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : environment) {
    if (FindSetting(name) != nullptr) continue;
    const std::optional<std::string> nearest = NearestName(name, SettingNames());
    if (!nearest.has_value()) continue;
    const bool is_near =
        EditDistance(name, *nearest) <= 1 || absl::EqualsIgnoreCase(name, *nearest);
    if (!is_near) continue;
    warnings.push_back(absl::StrCat("The environment variable ", absl::CHexEscape(name),
                                    " is no setting and is ignored; did you mean ", *nearest, "?"));
  }
  return warnings;
}

// What is wrong with `path` as a folder to be made or used; nothing is made here.
std::optional<std::string> FolderProblem(const std::string& path) {
  if (path.empty()) return "it is empty";
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path existing = fs::absolute(path, error).lexically_normal();
  while (!error && existing.has_relative_path() &&
         fs::status(existing, error).type() == fs::file_type::not_found) {
    error.clear();
    existing = existing.parent_path();
  }
  if (error) return absl::StrCat("it cannot be reached: ", error.message());
  if (!fs::is_directory(existing, error)) {
    return absl::StrCat("a file is in its place: ", absl::CHexEscape(existing.string()));
  }
  if (access(existing.c_str(), W_OK | X_OK) != 0) {
    return absl::StrCat("this user may not write in ", absl::CHexEscape(existing.string()));
  }
  return std::nullopt;
}

bool Collide(const std::optional<ListenAddress>& a, const std::optional<ListenAddress>& b) {
  return a.has_value() && a == b && a->port != 0;
}

// The rules that one value alone cannot break.
class WholeCheck {
 public:
  WholeCheck(const Config& config, const GivenValues& given, std::vector<std::string>& faults)
      : config_(config), given_(given), faults_(faults) {}

  void Run() {
    // With a database nothing is kept there: a container may have no folder that can be written.
    if (const auto problem = FolderProblem(config_.data_dir);
        problem.has_value() && !config_.database_url.has_value()) {
      Add("DATA_DIR", *problem, "a folder that exists or can be made");
    }
    if (config_.recent_likes_fresh > config_.recent_likes_ttl) {
      Add("RECENT_LIKES_FRESH_SECONDS", "it is above RECENT_LIKES_TTL", "at most that");
    }
    if (config_.batch_rows_max > config_.write_queue_max) {
      Add("BATCH_ROWS_MAX", "it is above WRITE_QUEUE_MAX", "at most that");
    }
    if (config_.durability == Durability::kReplicated && !config_.database_url.has_value()) {
      Add("DURABILITY", "the embedded store is not replicated",
          "a DATABASE_URL beside it, or local");
    }
    if (!config_.replica_urls.empty() && !config_.database_url.has_value()) {
      Add("REPLICA_URLS", "DATABASE_URL is empty", "a DATABASE_URL beside it, or nothing");
    }
    if (Collide(config_.metrics_listen, config_.grpc_listen)) {
      Add("METRICS_LISTEN", "GRPC_LISTEN is the same", "an address of its own");
    }
    if (Collide(config_.http_listen, config_.grpc_listen)) {
      Add("HTTP_LISTEN", "GRPC_LISTEN is the same", "an address of its own");
    }
    if (Collide(config_.http_listen, config_.metrics_listen)) {
      Add("HTTP_LISTEN", "METRICS_LISTEN is the same", "an address of its own");
    }
    CheckAdminListen();
  }

  // How the listeners are secured.
  void CheckSecurity() {
    if (config_.tls_certificate_file.empty() != config_.tls_key_file.empty()) {
      Add(config_.tls_key_file.empty() ? "TLS_KEY_FILE" : "TLS_CERTIFICATE_FILE", "it is empty",
          "a file, since the other of TLS_CERTIFICATE_FILE and TLS_KEY_FILE is set");
    }
    if (!config_.tls_client_ca_file.empty() && !config_.has_tls()) {
      Add("TLS_CLIENT_CA_FILE", "there is no TLS", "TLS_CERTIFICATE_FILE and TLS_KEY_FILE, too");
    }
    if (!config_.caller_tokens_file.empty() && config_.callers_file.empty()) {
      Add("CALLERS_FILE", "it is empty",
          "a file that says what the callers of "
          "CALLER_TOKENS_FILE may do");
    }
    const PlaintextListeners& allowed = config_.allow_plaintext;
    if (!config_.has_tls()) {
      CheckPlaintext("GRPC_LISTEN", config_.grpc_listen, allowed.grpc, "grpc");
      CheckPlaintext("HTTP_LISTEN", config_.http_listen, allowed.http, "http");
    }
    CheckPlaintext("METRICS_LISTEN", config_.metrics_listen, allowed.metrics, "metrics");
    CheckAdminSecurity();
  }

 private:
  void CheckAdminListen() {
    for (const auto& other :
         {std::optional(config_.grpc_listen), config_.http_listen, config_.metrics_listen}) {
      if (Collide(config_.admin_listen, other)) {
        Add("ADMIN_LISTEN", "another listener has the same", "an address of its own");
      }
    }
  }

  // Who reaches it may erase everything: beyond this machine it wants to know who calls.
  void CheckAdminSecurity() {
    const bool is_guarded = config_.has_tls() && !config_.callers_file.empty();
    if (!config_.admin_listen.has_value() || config_.admin_listen->IsLoopback() || is_guarded) {
      return;
    }
    Add("ADMIN_LISTEN", "other machines could reach it, and nothing protects it",
        "an address of this machine alone, such as 127.0.0.1:50052, or TLS (TLS_CERTIFICATE_FILE) "
        "and callers (CALLERS_FILE)");
  }

  void CheckPlaintext(absl::string_view name, const std::optional<ListenAddress>& listen,
                      bool allowed, absl::string_view word) {
    if (allowed || !listen.has_value() || listen->IsLoopback()) return;
    Add(name, "other machines can reach it and it has no TLS",
        absl::StrCat("a loopback address, or ", word, " in ALLOW_PLAINTEXT",
                     word == "metrics" ? "" : ", or TLS (TLS_CERTIFICATE_FILE)"));
  }

  void Add(absl::string_view name, absl::string_view problem, absl::string_view expected) {
    const Setting& setting = *FindSetting(name);
    const auto given = given_.find(std::string(name));
    const bool is_default = given == given_.end();
    const std::string text(is_default ? std::string(setting.default_text) : given->second.text);
    faults_.push_back(absl::StrCat(name, " = ", ShowValue(setting, text), " (",
                                   is_default ? "default" : given->second.source, "): ", problem,
                                   "; expected ", expected));
  }

  const Config& config_;
  const GivenValues& given_;
  std::vector<std::string>& faults_;
};

absl::Status Refusal(const std::vector<std::string>& faults) {
  return absl::InvalidArgumentError(
      absl::StrCat(faults.size(), faults.size() == 1 ? " fault" : " faults",
                   " in the configuration:\n  ", absl::StrJoin(faults, "\n  ")));
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

absl::StatusOr<LoadedConfig> LoadConfig(const ConfigSources& sources,
                                        std::vector<std::string> faults) {
  GivenValues given;
  TakeFlags(sources, given);
  TakeEnvironment(sources, given);
  TakeFile(given, faults);

  LoadedConfig loaded;
  for (const Setting& setting : Settings()) {
    const std::string name(setting.name);
    const auto found = given.find(name);
    const GivenValue value = found != given.end()
                                 ? found->second
                                 : GivenValue{std::string(setting.default_text), "default"};
    if (const auto problem = ParseValue(setting, value.text, loaded.config)) {
      faults.push_back(Fault(setting, value, *problem));
      // The default stands in, so that the rules over several settings can still be checked.
      ParseValue(setting, setting.default_text, loaded.config);
      given.erase(name);
    }
    loaded.effective.push_back({&setting, ShowValue(setting, value.text), value.source});
  }
  WholeCheck check(loaded.config, given, faults);
  check.Run();
  if (sources.listens) check.CheckSecurity();
  if (!faults.empty()) return Refusal(faults);

  loaded.warnings = NearMisses(sources.environment);
  const PlaintextListeners& plaintext = loaded.config.allow_plaintext;
  if (!loaded.config.caller_tokens_file.empty() && !loaded.config.has_tls() &&
      (plaintext.grpc || plaintext.http)) {
    loaded.warnings.push_back(
        "CALLER_TOKENS_FILE without TLS: who listens on the network reads the tokens.");
  }
  if (loaded.config.durability == Durability::kUnsafe) {
    loaded.warnings.push_back(
        loaded.config.database_url.has_value()
            ? "DURABILITY is unsafe: acknowledged likes may be lost in a crash."
            : "DURABILITY is unsafe, but the embedded store is always local: ignored.");
  }
  return loaded;
}

Config DefaultConfig() {
  Config config;
  for (const Setting& setting : Settings()) {
    // A default that its own setting refuses is our mistake.
    if (ParseValue(setting, setting.default_text, config)) std::abort();
  }
  return config;
}

}  // namespace counter
