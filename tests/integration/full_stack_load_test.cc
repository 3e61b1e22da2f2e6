// 64 callers, likes, unlikes, batches and reads mixed, through two servers over one PostgreSQL and
// one Redis: replies obey the contract, counts and digests equal the rows, and at rest so does the
// cache.
#include <catch2/catch.hpp>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

void RequireExact(int64_t users, int64_t items, absl::Duration long_form = absl::Seconds(30)) {
  FullStack stack;
  MixedLoadOptions options;
  options.users = users;
  options.items = items;
  MixedLoad load(stack, options);
  absl::SleepFor(Sized(absl::Seconds(4), long_form));
  const MixedLoadReport report = load.Stop();
  RequireFlawless(report, stack);
  CHECK(report.hits > 0);
  stack.RequireSound();
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
  CHECK_FALSE(stack.CachedCounts().empty());
}

TEST_CASE("Mixed load on one item through two servers leaves exact counts everywhere") {
  RequireExact(/*users=*/1000, /*items=*/1);
}

TEST_CASE(
    "K14: mixed load on 50 items through two servers never deadlocks, and leaves exact counts") {
  RequireExact(/*users=*/1000, /*items=*/50, /*long_form=*/absl::Minutes(5));
}

TEST_CASE("Mixed load on many items through two servers leaves exact counts everywhere") {
  RequireExact(/*users=*/1000, /*items=*/1'000'000);
}

TEST_CASE("Mixed load on 20 users and 30 items, all in each other's way, leaves exact counts") {
  RequireExact(/*users=*/20, /*items=*/30);
}

}  // namespace
}  // namespace counter::testing
