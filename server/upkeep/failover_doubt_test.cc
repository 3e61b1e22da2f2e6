#include "server/upkeep/failover_doubt.h"

#include <catch2/catch.hpp>

namespace counter {
namespace {

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(1'000'000 + seconds); }
int64_t VersionAt(int64_t seconds) { return absl::ToUnixMicros(At(seconds)); }

TEST_CASE("without a failover nothing is in doubt") {
  CHECK_FALSE(IsCountInDoubt(std::nullopt, VersionAt(0), At(0)));
  CHECK_FALSE(IsInDoubt(std::nullopt, At(0)));
}

TEST_CASE("a count is in doubt if it may have changed after what was kept, and was read before") {
  Failover failover;
  failover.kept_until = At(1'000);
  failover.seen = At(1'020);
  // Changed long before: the new primary has it, whenever it was read.
  CHECK_FALSE(IsCountInDoubt(failover, VersionAt(900), At(1'010)));
  // Changed in the gap.
  CHECK(IsCountInDoubt(failover, VersionAt(1'005), At(1'010)));
  CHECK(IsCountInDoubt(failover, VersionAt(1'000), At(1'001)));
  // Read from the new primary, when everybody had noticed.
  CHECK_FALSE(IsCountInDoubt(failover, VersionAt(1'005), At(1'026)));
  CHECK_FALSE(IsCountInDoubt(failover, VersionAt(1'030), At(1'031)));
}

TEST_CASE("a fact is in doubt by the time at which it was read") {
  Failover failover;
  failover.kept_until = At(1'000);
  failover.seen = At(1'020);
  CHECK_FALSE(IsInDoubt(failover, At(900)));
  CHECK(IsInDoubt(failover, At(1'010)));
  CHECK(IsInDoubt(failover, At(1'024)));
  CHECK_FALSE(IsInDoubt(failover, At(1'025)));
}

TEST_CASE("where nobody knows what was kept, everything that was read before is in doubt") {
  Failover failover;
  failover.seen = At(1'020);
  CHECK(IsCountInDoubt(failover, 1, At(1)));
  CHECK(IsCountInDoubt(failover, 0, At(1'010)));
  CHECK_FALSE(IsCountInDoubt(failover, 1, At(1'030)));
}

}  // namespace
}  // namespace counter
