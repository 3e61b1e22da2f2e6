// AdminService over PostgreSQL and Redis, with two servers and callers that go on meanwhile.
#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/admin_client.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr int64_t kUsers = 60;
constexpr int64_t kPosts = 12;

// Likes and unlikes through both servers until it is stopped.
class Callers {
 public:
  explicit Callers(FullStack& stack, int callers = 4) {
    for (int i = 0; i < callers; ++i) {
      threads_.emplace_back([this, &stack, i] {
        std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(i));
        const Client& client = stack.client(i % FullStack::kServers);
        while (!stop_) {
          std::vector<client::Mutation> mutations;
          for (int m = 0; m < 10; ++m) {
            const auto user = 1 + static_cast<int64_t>(random() % kUsers);
            const auto post = 1 + static_cast<int64_t>(random() % kPosts);
            mutations.push_back(
                {user, Post(post),
                 random() % 2 == 0 ? client::Action::kLike : client::Action::kUnlike});
          }
          const auto written = client.WriteLikes(mutations);
          bool all = written.ok();
          if (all) {
            for (const auto& result : written->results) all = all && result.ok();
          }
          ++(all ? ok_ : failed_);
        }
      });
    }
  }
  ~Callers() { Stop(); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  void Stop() {
    stop_ = true;
    threads_.clear();
  }
  int64_t ok() const { return ok_; }
  int64_t failed() const { return failed_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> ok_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::vector<std::jthread> threads_;
};

Settings WithAdmin() { return {{"ADMIN_LISTEN", "127.0.0.1:0"}}; }

TEST_CASE("K29: under load an audit names what was changed by hand, and a repair loses no like") {
  FullStack stack(WithAdmin());
  Callers callers(stack);
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] { return callers.ok() > 50; }));
  CHECK(RunAdmin(stack.server(0), {"audit"}).status == 0);
  const int rounds = Sized(3, 100);
  for (int round = 0; round < rounds; ++round) {
    // Counts far above what the callers take away.
    stack.Sql("UPDATE counters SET count = count + 1000 WHERE item_id = 3");
    // The callers may take the like away first, or have left none.
    REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
      return stack.Sql(
                 "WITH gone AS (DELETE FROM user_likes WHERE item_id = 5 AND user_id = (SELECT "
                 "min(user_id) FROM user_likes WHERE item_id = 5) RETURNING 1) SELECT count(*) "
                 "FROM "
                 "gone") == "1";
    }));
    const cli::Ran audit = RunAdmin(stack.server(round % 2), {"audit", "-o", "json"});
    INFO(audit.err);
    CHECK(audit.status == 1);
    const boost::json::array found = boost::json::parse(audit.out).as_array();
    REQUIRE(found.size() == 2);
    CHECK(found[0].at("item") == "post:3");
    CHECK(found[0].at("stored_count").as_int64() == found[0].at("actual_count").as_int64() + 1000);
    CHECK(found[0].at("stored_digest") == found[0].at("actual_digest"));
    CHECK(found[1].at("item") == "post:5");
    CHECK(found[1].at("stored_digest") != found[1].at("actual_digest"));

    const int64_t before = callers.ok();
    const cli::Ran repair = RunAdmin(stack.server(1 - round % 2), {"repair", "-o", "json"});
    INFO(repair.err);
    CHECK(repair.status == 0);
    CHECK(boost::json::parse(repair.out).as_array().size() == 2);
    CHECK(RunAdmin(stack.server(round % 2), {"audit"}).status == 0);
    REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] { return callers.ok() > before; }));
  }
  callers.Stop();
  CHECK(callers.failed() == 0);
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  stack.RequireSound();
  CHECK(Eventually(absl::Seconds(10) * Slowness(),
                   [&] { return stack.Sql("SELECT count(*) FROM cache_outbox") == "0"; }));
}

TEST_CASE("a repaired count shows through the other server as soon as the repair has answered") {
  FullStack stack(WithAdmin());
  for (int64_t user = 1; user <= 5; ++user) {
    REQUIRE(stack.client(0).Like(user, Post(1)).ok());
  }
  stack.Sql("UPDATE counters SET count = 100 WHERE item_id = 1");
  // The wrong count comes into the shared cache by a like.
  REQUIRE(stack.client(1).Like(6, Post(1)).value().count == 101);
  REQUIRE(stack.client(1).Count(Post(1)).value().count.count == 101);
  CHECK(RunAdmin(stack.server(0), {"repair"}).status == 0);
  CHECK(stack.client(1).Count(Post(1)).value().count.count == 6);
  CHECK(stack.CachedCount(1) == 6);
}

TEST_CASE("users and items are erased exactly while likes go on, through both servers' caches") {
  FullStack stack(WithAdmin());
  std::vector<client::Mutation> mutations;
  for (int64_t id = 101; id <= 400; ++id) {
    mutations.push_back({500, Post(id), client::Action::kLike});
    mutations.push_back({501, Post(id), client::Action::kLike});
  }
  for (int64_t user = 1001; user <= 1300; ++user) {
    mutations.push_back({user, Post(50), client::Action::kLike});
  }
  REQUIRE(stack.client(0).WriteLikes(mutations).ok());
  Callers callers(stack);
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] { return callers.ok() > 20; }));
  CHECK(stack.client(1).Count(Post(101)).value().count.count == 2);
  CHECK(stack.client(1).Count(Post(50)).value().count.count == 300);
  CHECK(stack.client(1).HasLiked(500, {Post(101)}).value().liked[0]);

  const cli::Ran erased = RunAdmin(stack.server(0), {"erase-user", "500", "--yes", "-o", "json"});
  INFO(erased.err);
  CHECK(erased.status == 0);
  CHECK(boost::json::parse(erased.out).at("likes_removed") == 300);
  CHECK(stack.client(1).Count(Post(101)).value().count.count == 1);
  CHECK_FALSE(stack.client(1).HasLiked(500, {Post(101)}).value().liked[0]);
  CHECK(stack.client(1).HasLiked(501, {Post(101)}).value().liked[0]);

  const cli::Ran removed =
      RunAdmin(stack.server(1), {"delete-item", "post:50", "--yes", "-o", "json"});
  INFO(removed.err);
  CHECK(removed.status == 0);
  CHECK(boost::json::parse(removed.out).at("likes_removed") == 300);
  CHECK(stack.client(0).Count(Post(50)).value().count.count == 0);
  CHECK(stack.Sql("SELECT count FROM counters WHERE item_id = 50") == "0");

  // An item that is liked all the time comes to an end, too.
  CHECK(RunAdmin(stack.server(0), {"delete-item", "post:1", "--yes"}).status == 0);
  callers.Stop();
  CHECK(callers.failed() == 0);
  CHECK(RunAdmin(stack.server(0), {"audit"}).status == 0);
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
