// CopyVerdict: what copies of one counter, compared with each other, come to.
//
// Use it on what was read of an item: first the caches, then the replicas, and last the primary
// with a recount of the item's likes, those two in one snapshot. A version orders all changes of an
// item, so two copies at one version must say the same; an older version is behind, which caches
// and replicas may be for a while; a newer one than the primary's, which was read last, is ahead,
// which passes when it is read again.
//
// The likes are the truth: where they were recounted and the counter's row says something else, the
// row is wrong, and the others at its version are held against the likes.
//
// Pure; any thread. Values.
#ifndef COUNTER_SERVER_CHECK_COPY_VERDICT_H_
#define COUNTER_SERVER_CHECK_COPY_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "storage/like.h"

namespace counter {

// Where a copy is, in the order in which copies are read.
enum class CopyLayer : uint8_t {
  kNear,     // The server's own memory in front of Redis.
  kLocal,    // The cache inside the process, where there is no Redis.
  kRedis,    // The shared cache.
  kReplica,  // The counter's row at a replica.
  kPrimary,  // The counter's row.
  kRecount,  // Its likes, counted.
};
inline constexpr int kCopyLayers = 6;

enum class CopyResult : uint8_t {
  kEqual,       // The primary's version, and says the same.
  kOvertaken,   // Has the write that was asked about; the item has changed again since.
  kBehind,      // Lacks that write. Without one: older than the primary.
  kAhead,       // Newer than the primary. Read again.
  kDiverged,    // Says something else at a version that another copy has, too.
  kAbsent,      // A cache has nothing: reads go on to the next layer.
  kSkipped,     // A recount would have cost more than it may.
  kUnanswered,  // Could not be asked, or not be compared.
};
inline constexpr int kCopyResults = 8;

// Names for labels, columns and logs: "near", "equal".
absl::string_view CopyLayerName(CopyLayer layer);
absl::string_view CopyResultName(CopyResult result);

// What one layer says of an item.
struct Copy {
  enum class Standing : uint8_t { kSays, kAbsent, kSkipped, kUnanswered };

  CopyLayer layer = CopyLayer::kPrimary;
  int replica = 0;  // Of kReplica: which, from 1.
  Standing standing = Standing::kUnanswered;
  int64_t count = 0;
  int64_t version = 0;            // Of kRecount: the row's, whose snapshot it shares.
  std::optional<int64_t> digest;  // Caches hold none.

  friend bool operator==(const Copy&, const Copy&) = default;
};

// A write that was acknowledged: from then on the item's count was this, at this version.
struct KnownWrite {
  Item item;
  int64_t count = 0;
  int64_t version = 0;

  friend bool operator==(const KnownWrite&, const KnownWrite&) = default;
};

// Copies of one item, and what they come to: results[i] is of copies[i].
struct CheckedItem {
  Item item;
  std::vector<Copy> copies;
  std::vector<CopyResult> results;

  bool Has(CopyResult result) const;
};

// Requires the primary among the copies.
std::vector<CopyResult> JudgeCopies(const std::vector<Copy>& copies,
                                    const std::optional<KnownWrite>& write);

// "redis diverged: count 7, version 1700; primary equal: count 6, version 1700, digest ...", for a
// log. Of what has nothing to say only its result.
std::string DescribeCopies(const CheckedItem& checked);

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_COPY_VERDICT_H_
