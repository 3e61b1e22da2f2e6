// CountReads: when a cache answers a read of a count, and what a cache is told of what the store
// answered.
//
// Use it where counts are read (counter_service.h), and where that is held to the contract by
// simulation. It reads nothing itself.
//
// Pure functions; any thread.
#ifndef COUNTER_SERVER_COUNT_READS_H_
#define COUNTER_SERVER_COUNT_READS_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "cache/count_cache.h"
#include "storage/like_store.h"

namespace counter {

// Whether what the cache said answers a read that must not be older than that version.
inline bool AnswersRead(const CountLookup& lookup, int64_t min_version) {
  return lookup.kind == CountLookup::Kind::kHit && lookup.entry.version >= min_version;
}

// What the cache is told of a count that was read from the store as of that time, for a look-up
// that got `token` (0: none). Nothing if it must not be told.
inline std::optional<CountPut> FillOf(const Item& item, const ItemCount& count, absl::Time as_of,
                                      FillToken token) {
  CountPut put;
  put.entry = {item, count.count, count.version, as_of};
  put.token = token;
  if (count.source == ReadSource::kReplica) {
    // It may be older than a write that was put before, so it fills a lease or nothing, and does
    // not stay.
    if (token == 0) return std::nullopt;
    put.life_max = kReplicaFillLife;
  }
  return put;
}

}  // namespace counter

#endif  // COUNTER_SERVER_COUNT_READS_H_
