// The version of the product, for `counterd version`, metrics and logs. Raised with each release;
// CHANGELOG.md says what changed.
#ifndef COUNTER_SERVER_VERSION_H_
#define COUNTER_SERVER_VERSION_H_

namespace counter {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace counter

#endif  // COUNTER_SERVER_VERSION_H_
