#include "server/check/copy_verdict.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace counter {
namespace {

using Results = std::vector<CopyResult>;
using Standing = Copy::Standing;

constexpr Item kItem = {ItemType{1}, 7};
constexpr int64_t kDigest = 0x55;

Copy Cached(int64_t count, int64_t version) {
  return {CopyLayer::kRedis, 0, Standing::kSays, count, version, std::nullopt};
}
Copy Row(CopyLayer layer, int64_t count, int64_t version, int64_t digest = kDigest) {
  return {layer, layer == CopyLayer::kReplica ? 1 : 0, Standing::kSays, count, version, digest};
}
Copy Mute(CopyLayer layer, Standing standing) { return {layer, 0, standing, 0, 0, std::nullopt}; }
KnownWrite Write(int64_t count, int64_t version) { return {kItem, count, version}; }

CopyResult Of(const Copy& copy, const std::optional<KnownWrite>& write = std::nullopt) {
  return JudgeCopies({copy, Row(CopyLayer::kPrimary, 5, 100), Row(CopyLayer::kRecount, 5, 100)},
                     write)[0];
}

TEST_CASE("copies at one version are equal if they say the same, and diverge if they do not") {
  CHECK(Of(Cached(5, 100)) == CopyResult::kEqual);
  CHECK(Of(Cached(6, 100)) == CopyResult::kDiverged);
  CHECK(Of(Row(CopyLayer::kReplica, 5, 100)) == CopyResult::kEqual);
  CHECK(Of(Row(CopyLayer::kReplica, 4, 100)) == CopyResult::kDiverged);
  CHECK(Of(Row(CopyLayer::kReplica, 5, 100, kDigest + 1)) == CopyResult::kDiverged);
}

TEST_CASE("an older version is behind, whatever it says, and a newer one is ahead") {
  CHECK(Of(Cached(5, 99)) == CopyResult::kBehind);
  CHECK(Of(Cached(400, 99)) == CopyResult::kBehind);
  CHECK(Of(Row(CopyLayer::kReplica, 0, 0, 0)) == CopyResult::kBehind);
  CHECK(Of(Cached(5, 101)) == CopyResult::kAhead);
}

TEST_CASE("a copy that has the known write and not what came after it is overtaken, not behind") {
  CHECK(Of(Cached(4, 90), Write(4, 90)) == CopyResult::kOvertaken);
  CHECK(Of(Cached(9, 95), Write(4, 90)) == CopyResult::kOvertaken);
  CHECK(Of(Cached(3, 89), Write(4, 90)) == CopyResult::kBehind);
}

TEST_CASE("the known write's own version with another count diverges, though the item moved on") {
  CHECK(Of(Cached(3, 90), Write(4, 90)) == CopyResult::kDiverged);
  const Results primary = JudgeCopies({Row(CopyLayer::kPrimary, 3, 90)}, Write(4, 90));
  CHECK(primary == Results{CopyResult::kDiverged});
}

TEST_CASE("a primary without the known write is behind: an acknowledged write is gone") {
  CHECK(JudgeCopies({Row(CopyLayer::kPrimary, 3, 89)}, Write(4, 90)) ==
        Results{CopyResult::kBehind});
  CHECK(JudgeCopies({Row(CopyLayer::kPrimary, 4, 90)}, Write(4, 90)) ==
        Results{CopyResult::kEqual});
  CHECK(JudgeCopies({Row(CopyLayer::kPrimary, 9, 91)}, Write(4, 90)) ==
        Results{CopyResult::kEqual});
}

TEST_CASE("where the likes were recounted they are the truth, and the row that differs is wrong") {
  const std::vector<Copy> by_count = {Cached(5, 100), Row(CopyLayer::kReplica, 99, 100),
                                      Row(CopyLayer::kPrimary, 99, 100),
                                      Row(CopyLayer::kRecount, 5, 100)};
  CHECK(JudgeCopies(by_count, std::nullopt) == Results{CopyResult::kEqual, CopyResult::kDiverged,
                                                       CopyResult::kDiverged,
                                                       CopyResult::kDiverged});
  const std::vector<Copy> by_digest = {Cached(5, 100), Row(CopyLayer::kPrimary, 5, 100, 1),
                                       Row(CopyLayer::kRecount, 5, 100, 2)};
  CHECK(JudgeCopies(by_digest, std::nullopt) ==
        Results{CopyResult::kEqual, CopyResult::kDiverged, CopyResult::kDiverged});
}

TEST_CASE("a recount that was skipped leaves the row as what the others are held against") {
  const std::vector<Copy> copies = {Cached(6, 100), Row(CopyLayer::kPrimary, 5, 100),
                                    Mute(CopyLayer::kRecount, Standing::kSkipped)};
  CHECK(JudgeCopies(copies, std::nullopt) ==
        Results{CopyResult::kDiverged, CopyResult::kEqual, CopyResult::kSkipped});
}

TEST_CASE("without the primary's word nothing can be said of the others") {
  const std::vector<Copy> copies = {Cached(6, 100), Mute(CopyLayer::kNear, Standing::kAbsent),
                                    Mute(CopyLayer::kPrimary, Standing::kUnanswered),
                                    Mute(CopyLayer::kRecount, Standing::kUnanswered)};
  CHECK(JudgeCopies(copies, Write(6, 100)) == Results{CopyResult::kUnanswered, CopyResult::kAbsent,
                                                      CopyResult::kUnanswered,
                                                      CopyResult::kUnanswered});
}

TEST_CASE("an item that nobody has liked is equal everywhere it is known") {
  const std::vector<Copy> copies = {Cached(0, 0), Row(CopyLayer::kPrimary, 0, 0, 0),
                                    Row(CopyLayer::kRecount, 0, 0, 0)};
  CHECK(JudgeCopies(copies, std::nullopt) ==
        Results{CopyResult::kEqual, CopyResult::kEqual, CopyResult::kEqual});
}

TEST_CASE("a description names each layer with its result, its count and its version") {
  CheckedItem checked;
  checked.item = kItem;
  checked.copies = {Mute(CopyLayer::kNear, Standing::kAbsent), Cached(6, 100),
                    Row(CopyLayer::kReplica, 4, 99), Row(CopyLayer::kPrimary, 5, 100)};
  checked.results = JudgeCopies(checked.copies, std::nullopt);
  CHECK(DescribeCopies(checked) ==
        "near absent; redis diverged: count 6, version 100; "
        "replica 1 behind: count 4, version 99, digest 0000000000000055; "
        "primary equal: count 5, version 100, digest 0000000000000055");
  CHECK(checked.Has(CopyResult::kDiverged));
  CHECK_FALSE(checked.Has(CopyResult::kAhead));
}

}  // namespace
}  // namespace counter
