// Setting: one row of THE table of what a user may set. Names, types, defaults, ranges, units, help
// and secrecy stand there and nowhere else; flags, environment, file, --help, `counterd config` and
// docs/configuration.md are all made from it.
//
// To add a setting: a field in Config, a row in the table (setting_table.h), and `counterd config
// --markdown` into docs/configuration.md (a test tells if it was forgotten). Threads: any; all of
// it is constant.
#ifndef COUNTER_SERVER_CONFIG_SETTING_H_
#define COUNTER_SERVER_CONFIG_SETTING_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/config/config.h"

namespace counter {

// Where in Config the value goes, and so of which type it is. A Duration is given in whole seconds.
using SettingField =
    std::variant<int Config::*, absl::Duration Config::*, bool Config::*, std::string Config::*,
                 ListenAddress Config::*, std::optional<ListenAddress> Config::*,
                 std::optional<ServiceUrl> Config::*, std::vector<ServiceUrl> Config::*,
                 NamedItemTypes Config::*, LogLevel Config::*, LogFormat Config::*,
                 Durability Config::*, PlaintextListeners Config::*>;

struct Setting {
  absl::string_view name;  // In the environment and in the file: "GRPC_LISTEN".
  absl::string_view group;
  SettingField field;
  absl::string_view default_text = {};
  int min = 0;                                  // Of numbers and durations.
  int max = 0;                                  // Of numbers and durations.
  absl::string_view unit = {};                  // Of numbers and durations: "seconds", "bytes".
  std::vector<absl::string_view> schemes = {};  // Of URLs.
  bool secret = false;                          // The value may hold a password.
  absl::string_view help = {};                  // Whole sentences.

  // "--grpc-listen".
  std::string flag() const;
  // What is accepted, to follow the word "expected": "a whole number of seconds from 1 to 60".
  std::string expected() const;
};

// In the order in which they are shown; settings of one group stand together.
const std::vector<Setting>& Settings();

// Null if there is none of that name.
const Setting* FindSetting(absl::string_view name);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_SETTING_H_
