// LoadConfig: from flags, environment and file (in that order of precedence) to a Config, or to
// every fault that there is.
//
// The reader of the command line is command_line.h; the reader of files is here. Only the value
// that counts is checked: a bad one that is overridden does no harm. Threads: any; start-up only.
#ifndef COUNTER_SERVER_CONFIG_LOAD_H_
#define COUNTER_SERVER_CONFIG_LOAD_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"
#include "server/config/setting.h"

namespace counter {

using Environment = std::map<std::string, std::string>;

// The environment of this process.
Environment ProcessEnvironment();

// What the sources said, before anything is known to be right.
struct ConfigSources {
  // Flags of the command line, as names of settings; of several with one name the last counts.
  std::vector<std::pair<std::string, std::string>> flags;
  Environment environment;
  // Whether listeners will be opened: `counterd migrate` opens none, so that how they are secured
  // does not matter to it.
  bool listens = true;
};

// A setting as it came out, for people.
struct EffectiveSetting {
  const Setting* setting = nullptr;
  std::string shown;   // Without secrets; quoted.
  std::string source;  // "default", "flag --grpc-listen", "environment", "file /etc/x line 3".
};

struct LoadedConfig {
  Config config;
  std::vector<EffectiveSetting> effective;  // In the order of Settings().
  std::vector<std::string> warnings;        // Sentences for the log.
};

// Reads the file that CONFIG_FILE names, if it does. Faults that the caller found before (unknown
// flags) are put first. Refuses with INVALID_ARGUMENT and a message of several lines: one for each
// fault, which names setting, value, source and what was expected.
absl::StatusOr<LoadedConfig> LoadConfig(const ConfigSources& sources,
                                        std::vector<std::string> faults = {});

// Every setting at its default.
Config DefaultConfig();

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_LOAD_H_
