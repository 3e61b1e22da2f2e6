// The rows of THE table of settings (setting.h), in parts that one can read. In the order in which
// they are shown; settings of one group stand together.
//
// Threads: any; constant.
#ifndef COUNTER_SERVER_CONFIG_SETTING_TABLE_H_
#define COUNTER_SERVER_CONFIG_SETTING_TABLE_H_

#include <vector>

#include "server/config/setting.h"

namespace counter {

// Who comes in, and how: listeners, security.
std::vector<Setting> SettingsOfAccess();
// What is kept, and where: likes, storage, cache.
std::vector<Setting> SettingsOfData();
// How much, and how it is run: limits, operations.
std::vector<Setting> SettingsOfLimits();

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_SETTING_TABLE_H_
