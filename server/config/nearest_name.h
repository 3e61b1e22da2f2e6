// The name that somebody probably meant. Pure code.
#ifndef COUNTER_SERVER_CONFIG_NEAREST_NAME_H_
#define COUNTER_SERVER_CONFIG_NEAREST_NAME_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace counter {

// How many characters must be added, removed, replaced or swapped with their neighbour to make one
// text of the other (optimal string alignment).
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate that is nearest to `name`, letter case and the difference of - and _ aside; none if
// they all need more than a third of their characters changed.
std::optional<std::string> NearestName(absl::string_view name,
                                       const std::vector<std::string>& candidates);

}  // namespace counter

#endif  // COUNTER_SERVER_CONFIG_NEAREST_NAME_H_
