// What is true after a crash: of a server between its commit and its word to the cache, and of
// PostgreSQL under load.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// That of server/upkeep/failpoint.h.
constexpr int kFailpointExit = 86;

// Whether within the bound of a crash all servers that live answer `count` from the cache.
bool CachedCountBecomes(const FullStack& stack, const client::Item& item, int64_t count) {
  constexpr absl::Duration kBoundAfterCrash = absl::Seconds(5);
  return Eventually(kBoundAfterCrash, [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto read = stack.client(i).Count(item);
      if (!read.ok() || read->count.count != count ||
          read->count.source != client::Source::kCache) {
        return false;
      }
    }
    return true;
  });
}

// Whether a caller who does not ask for health is answered from the cache. The client for C++ asks,
// and while the store is gone it keeps its calls to itself.
bool CachedReadGoesOn(const CounterServer& server, const client::Item& item) {
  v1::CounterService::Stub stub(ChannelTo(server));
  v1::GetCountRequest request;
  request.mutable_item()->set_item_type(item.type);
  request.mutable_item()->set_item_id(item.id);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(5)));
  v1::GetCountResponse response;
  const grpc::Status status = stub.GetCount(&context, request, &response);
  return status.ok() && response.source() == v1::SOURCE_CACHE;
}

TEST_CASE("A server dies between commit and write-through: the cached count is right within 5 s") {
  FullStack stack;
  for (int64_t round = 1; round <= Sized(2, 20); ++round) {
    CAPTURE(round);
    REQUIRE(stack.client(0).Count(Post(1)).ok());  // Cached.
    REQUIRE(stack.CachedCount(1) == round - 1);
    const auto dying = stack.StartAnother({{"COUNTER_FAILPOINT", "exit-after-commit"}});
    const auto reply = ConnectTo(*dying).Like(round, Post(1));
    const auto exit = dying->WaitExit(absl::Seconds(10));
    REQUIRE(exit == ExitStatus{kFailpointExit, 0});
    // The caller does not know what became of the like. It was applied, and the cache not told.
    REQUIRE_FALSE(reply.ok());
    CHECK_FALSE(reply.error().not_applied);
    REQUIRE(stack.Sql("SELECT count FROM counters") == absl::StrCat(round));
    CHECK(CachedCountBecomes(stack, Post(1), round));
  }
  // What was made good is not made good again and again.
  CHECK(Eventually(absl::Seconds(5), [&] {
    return stack.Sql("SELECT count(*) FROM cache_outbox WHERE at < now() - interval '3 s'") == "0";
  }));
}

TEST_CASE("A server dies at a commit under load: counts and cache are exact all the same") {
  FullStack stack;
  const auto dying = stack.StartAnother({{"COUNTER_FAILPOINT", "exit-after-commit:100"}});
  const Client client = ConnectTo(*dying);
  MixedLoad load(stack, {.single_writers = 8, .batch_writers = 2, .users = 900});
  // Users of its own: whether the last like was applied is for PostgreSQL to say.
  int64_t user = 1000;
  while (client.Like(user, Post(1 + user % 30)).ok()) ++user;
  REQUIRE(dying->WaitExit(absl::Seconds(10)) == ExitStatus{kFailpointExit, 0});
  const MixedLoadReport report = load.Stop();
  for (const std::string& fault : report.faults) FAIL_CHECK(fault);
  CHECK(report.writes.errors.empty());
  const auto theirs = stack.Sql("SELECT count(*) FROM user_likes WHERE user_id >= 1000");
  CHECK(theirs == absl::StrCat(user - 1000 + 1));
  stack.RequireSound();
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
}

TEST_CASE(
    "PostgreSQL is killed under load: nothing acknowledged is lost, and all heals by itself") {
  FullStack stack;
  constexpr int64_t kWarm = 500;  // A post that nobody writes to.
  REQUIRE(stack.client(0).Count(Post(kWarm)).ok());
  const MixedLoadOptions options = {.single_writers = 16, .batch_writers = 2, .readers = 0};
  for (int round = 0; round < Sized(1, 10); ++round) {
    MixedLoad load(stack, options);
    absl::SleepFor(absl::Seconds(1));
    stack.postgres().Kill9();
    absl::SleepFor(absl::Milliseconds(1500));
    // Cached reads go on, strong ones and writes fail within a second.
    CHECK(CachedReadGoesOn(stack.server(1), Post(kWarm)));
    const absl::Time before = absl::Now();
    CHECK_FALSE(stack.client(0).Like(1, Post(kWarm + 1)).ok());
    CHECK(absl::Now() - before < absl::Seconds(2) * Slowness());
    const absl::Status restarted = stack.postgres().Restart();
    INFO(restarted);
    REQUIRE(restarted.ok());
    const absl::Time ready = absl::Now();
    for (int i = 0; i < FullStack::kServers; ++i) {
      CHECK(Eventually(absl::Seconds(5) * Slowness(),
                       [&] { return stack.client(i).Like(1'000'000, Post(kWarm + 2)).ok(); }));
    }
    WARN("writes again " << absl::Now() - ready << " after PostgreSQL was ready");
    absl::SleepFor(absl::Milliseconds(500));
    MixedLoadReport report = load.Stop();
    WARN(report.writes.ok << " writes, " << report.writes.not_applied << " not applied, "
                          << report.writes.unknown << " unknown");
    CHECK(report.writes.ok > 0);
    stack.Sql("DELETE FROM user_likes WHERE user_id = 1000000");
    stack.Sql(absl::StrCat("UPDATE counters SET count = 0, digest = 0 WHERE item_id >= ", kWarm));
    for (const std::string& contradiction :
         Contradictions(report.writes, stack.postgres(), stack.database()))
      FAIL_CHECK(contradiction);
    stack.RequireSound();
    stack.Sql("DELETE FROM user_likes");
    stack.Sql("UPDATE counters SET count = 0, digest = 0, version = version + 1000000000");
    stack.redis().Command({"FLUSHALL"});
  }
}

}  // namespace
}  // namespace counter::testing
