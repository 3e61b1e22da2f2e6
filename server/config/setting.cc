#include "server/config/setting.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "server/config/setting_table.h"

namespace counter {
namespace {

std::vector<Setting> MakeSettings() {
  std::vector<Setting> all;
  for (const auto& part : {SettingsOfAccess(), SettingsOfData(), SettingsOfLimits()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string Range(const Setting& setting, absl::string_view what) {
  return absl::StrCat(what, " ", setting.unit, " from ", setting.min, " to ", setting.max);
}

std::string ExpectedUrl(const Setting& setting) {
  std::vector<std::string> forms;
  for (const absl::string_view scheme : setting.schemes) {
    forms.push_back(absl::StrCat(scheme, "://USER:PASSWORD@HOST:PORT/DATABASE"));
  }
  return absl::StrCat(absl::StrJoin(forms, " or "), ", or nothing");
}

}  // namespace

std::string Setting::flag() const {
  return absl::StrCat("--",
                      absl::StrReplaceAll(absl::AsciiStrToLower(std::string(name)), {{"_", "-"}}));
}

std::string Setting::expected() const {
  struct Visitor {
    const Setting& setting;
    std::string operator()(int Config::*) const { return Range(setting, "a whole number of"); }
    std::string operator()(absl::Duration Config::*) const {
      return Range(setting, "a whole number of");
    }
    std::string operator()(bool Config::*) const { return "true or false"; }
    std::string operator()(std::string Config::*) const {
      return setting.default_text.empty() ? "a path, or nothing" : "a path";
    }
    std::string operator()(ListenAddress Config::*) const {
      return "HOST:PORT, such as 127.0.0.1:50051, 0.0.0.0:50051 or [::1]:50051";
    }
    std::string operator()(std::optional<ListenAddress> Config::*) const {
      return "HOST:PORT, such as 127.0.0.1:9090 or [::1]:9090, or nothing";
    }
    std::string operator()(std::optional<ServiceUrl> Config::*) const {
      return ExpectedUrl(setting);
    }
    std::string operator()(std::vector<ServiceUrl> Config::*) const {
      return absl::StrCat(setting.schemes.front(),
                          "://USER:PASSWORD@HOST:PORT/DATABASE, up to 16, with commas between, or "
                          "nothing");
    }
    std::string operator()(NamedItemTypes Config::*) const {
      return "1 to 100 of NAME=NUMBER with commas between, such as post=1,reel=2; names of 1 to 32 "
             "characters a-z, 0-9 and _ that begin with a letter, numbers from 1 to 32767, each "
             "once";
    }
    std::string operator()(LogLevel Config::*) const { return "debug, info, warning or error"; }
    std::string operator()(LogFormat Config::*) const { return "auto, text or json"; }
    std::string operator()(PlaintextListeners Config::*) const {
      return "some of grpc, http and metrics with commas between, or nothing";
    }
    std::string operator()(Durability Config::*) const {
      return "local, replicated, or unsafe for a database that is thrown away";
    }
  };
  return std::visit(Visitor{*this}, field);
}

const std::vector<Setting>& Settings() {
  static const auto* const settings = new std::vector<Setting>(MakeSettings());
  return *settings;
}

const Setting* FindSetting(absl::string_view name) {
  const std::vector<Setting>& settings = Settings();
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [name](const Setting& setting) { return setting.name == name; });
  return found == settings.end() ? nullptr : &*found;
}

}  // namespace counter
