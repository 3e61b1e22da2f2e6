// From the text of a setting to its typed value and back. Pure code.
#ifndef COUNTER_SERVER_CONFIG_VALUE_H_
#define COUNTER_SERVER_CONFIG_VALUE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "server/config/config.h"
#include "server/config/setting.h"

namespace counter {

// Puts the value of `text` into its field of `config`. If the text is not acceptable: what is wrong
// with it ("it is not a whole number"), without any part of it; setting.expected() says the rest.
std::optional<std::string> ParseValue(const Setting& setting, absl::string_view text,
                                      Config& config);

// How a value may be shown: passwords hidden, control characters escaped, quoted, cut if it is
// long. `text` need not be acceptable.
std::string ShowValue(const Setting& setting, absl::string_view text);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_VALUE_H_
