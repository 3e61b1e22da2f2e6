#include "server/config/nearest_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace counter {
namespace {

std::string Normalized(absl::string_view name) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<int> before(width), above(width), row(width);
  for (size_t j = 0; j < width; ++j) above[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j < width; ++j) {
      const int replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::optional<std::string> NearestName(absl::string_view name,
                                       const std::vector<std::string>& candidates) {
  // The distance takes time of the product of the lengths: a name with a limit.
  constexpr size_t kNameBytesMax = 100;
  if (name.size() > kNameBytesMax) return std::nullopt;
  const std::string wanted = Normalized(name);
  std::optional<std::string> nearest;
  int nearest_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(wanted, Normalized(candidate));
    if (distance * 3 > static_cast<int>(candidate.size())) continue;
    if (nearest.has_value() && distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  return nearest;
}

}  // namespace counter
