// URLs of services: checking one, and showing one without its password. The only file that knows
// Boost.URL. Pure code; any thread.
#ifndef COUNTER_SERVER_CONFIG_SERVICE_URL_H_
#define COUNTER_SERVER_CONFIG_SERVICE_URL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/config/config.h"

namespace counter {

// Accepts scheme[+driver]://[user[:password]@]host[:port][,host[:port]...][/...] with a scheme of
// `schemes`, and drops the driver. Else what is wrong, without any part of the text.
std::optional<std::string> ParseServiceUrl(absl::string_view text,
                                           const std::vector<absl::string_view>& schemes,
                                           ServiceUrl& out);

// The URL with *** for its password and for the value of each query parameter that holds one;
// "(hidden)" for a text that is no URL, since nobody can tell where its secret stands.
std::string RedactUrl(absl::string_view text);

// The URLs of a list, which have commas or blanks between. A comma between the hosts of one URL is
// no such comma: what follows it is no URL.
std::vector<absl::string_view> SplitUrls(absl::string_view text);

// Each URL of the list as RedactUrl shows it, with ", " between; "(hidden)" if that hides any.
std::string RedactUrls(absl::string_view text);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_SERVICE_URL_H_
