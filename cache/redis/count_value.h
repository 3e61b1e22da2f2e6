// What stands under the key of an item's count, as text:
//
//   12@1700000000123456@1700000000200000    count@version@read_at; read_at in us since 1970
//   !9876543210@1700000000123456            a fill lease: !token@lowest version that may fill it
//
// Numbers are decimal, without leading zeros: the scripts compare them as strings, for Redis counts
// in doubles, which end at 2^53.
//
// Values only; any thread.
#ifndef COUNTER_CACHE_REDIS_COUNT_VALUE_H_
#define COUNTER_CACHE_REDIS_COUNT_VALUE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cache/count_protocol.h"

namespace counter::redis {

// Requires that the cell is not absent.
std::string FormatCell(const CountCell& cell);

// Absent: nothing that we have written.
std::optional<CountCell> ParseCell(absl::string_view text);

// read_at as it is written: whole microseconds, at or before `time`, not below 0.
int64_t ToStoredMicros(absl::Time time);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_COUNT_VALUE_H_
