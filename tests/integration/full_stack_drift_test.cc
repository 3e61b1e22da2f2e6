// K29 of the fault list: after chaos no count has drifted, and an audit finds what has.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/rest_calls.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr int64_t kUsers = 200;
constexpr int64_t kPosts = 40;

// Likes and unlikes by gRPC, REST and Connect, whatever becomes of them, through both servers.
class CarelessCallers {
 public:
  CarelessCallers(FullStack& stack, int callers) : stack_(stack) {
    for (int i = 0; i < callers; ++i) threads_.emplace_back([this, i] { Run(i); });
  }
  ~CarelessCallers() { Stop(); }
  CarelessCallers(const CarelessCallers&) = delete;
  CarelessCallers& operator=(const CarelessCallers&) = delete;

  void Stop() {
    stop_ = true;
    threads_.clear();
  }
  int64_t ok() const { return ok_; }
  int64_t failed() const { return failed_; }

 private:
  void Run(int caller) {
    std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(caller));
    const auto pick = [&](int64_t most) {
      return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most));
    };
    const int server = caller % FullStack::kServers;
    HttpClient http(stack_.server(server).http_port(), absl::Seconds(10));
    while (!stop_) {
      const bool is_like = random() % 2 == 0;
      bool is_ok = false;
      switch (random() % 4) {
        case 0: {
          const Client& grpc = stack_.client(server);
          is_ok = is_like ? grpc.Like(pick(kUsers), Post(pick(kPosts))).ok()
                          : grpc.Unlike(pick(kUsers), Post(pick(kPosts))).ok();
          break;
        }
        case 1:
          is_ok =
              http.Post(is_like ? "/v1/like" : "/v1/unlike", LikeBody(pick(kUsers), pick(kPosts)))
                  .status == 200;
          break;
        case 2: {
          boost::json::array mutations;
          for (int i = 0; i < 20; ++i) {
            mutations.push_back(
                MutationOf(pick(kUsers), pick(kPosts), random() % 2 == 0 ? "like" : "unlike"));
          }
          is_ok = http.Post("/v1/write_likes", MutationsBody(mutations)).status == 200;
          break;
        }
        default: {
          const boost::json::object item = {{"itemType", "post"}, {"itemId", pick(kPosts)}};
          const boost::json::object message = {{"userId", pick(kUsers)}, {"item", item}};
          is_ok =
              http.Post(absl::StrCat("/counter.v1.CounterService/", is_like ? "Like" : "Unlike"),
                        boost::json::serialize(message))
                  .status == 200;
        }
      }
      ++(is_ok ? ok_ : failed_);
    }
  }

  FullStack& stack_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> ok_ = 0;
  std::atomic<int64_t> failed_ = 0;
  std::vector<std::jthread> threads_;
};

// One thing that goes wrong, and is well again when it returns.
void Disturb(FullStack& stack, uint64_t choice) {
  switch (choice % 5) {
    case 0:
      stack.Sql(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
          "current_database() AND pid <> pg_backend_pid()");
      break;
    case 1:
      stack.redis().Kill9();
      absl::SleepFor(absl::Milliseconds(300));
      REQUIRE(stack.redis().Restart().ok());
      break;
    case 2:
      REQUIRE(stack.redis().Command({"FLUSHALL"}) == "OK");
      break;
    case 3:
      stack.redis().Pause();
      absl::SleepFor(absl::Milliseconds(200));
      stack.redis().Continue();
      break;
    default: {
      CounterServer& server = stack.server(static_cast<int>(choice / 5 % 2));
      server.Kill9();
      RestartServer(server);
    }
  }
}

TEST_CASE("K29: chaos leaves no drift, and an audit names exactly what was changed by hand") {
  FullStack stack;
  std::mt19937_64 random(TestSeed());
  CarelessCallers callers(stack, 8);
  const absl::Time end = absl::Now() + Sized(absl::Seconds(6), absl::Minutes(10));
  int disturbances = 0;
  // Each of the five at least once, in the short form too.
  for (; absl::Now() < end || disturbances < 5; ++disturbances) {
    absl::SleepFor(absl::Milliseconds(random() % 700));
    Disturb(stack, disturbances < 5 ? static_cast<uint64_t>(disturbances) : random());
  }
  callers.Stop();
  WARN(disturbances << " disturbances, " << callers.ok() << " calls went well, " << callers.failed()
                    << " not");
  CHECK(callers.ok() > 100);
  // Within a crash's bound the cache, too, is what the store is.
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  stack.RequireSound();

  const std::string with_likes = "SELECT item_id FROM counters WHERE count > 0 ORDER BY item_id ";
  const std::string first = stack.Sql(with_likes + "LIMIT 1");
  const std::string second = stack.Sql(with_likes + "OFFSET 1 LIMIT 1");
  stack.Sql("UPDATE counters SET count = count + 1 WHERE item_id = " + first);
  stack.Sql(
      absl::StrCat("DELETE FROM user_likes WHERE (user_id, item_id) IN (SELECT user_id, "
                   "item_id FROM user_likes WHERE item_id = ",
                   second, " LIMIT 1)"));
  const auto store = OpenTestStore(stack.database());
  const std::vector<AuditFinding> findings = Findings(*store);
  REQUIRE(findings.size() == 2);
  CHECK(absl::StrCat(findings[0].item.id) == first);
  CHECK(findings[0].stored_count == findings[0].actual_count + 1);
  CHECK(findings[0].stored_digest == findings[0].actual_digest);
  CHECK(absl::StrCat(findings[1].item.id) == second);
  CHECK(findings[1].stored_count == findings[1].actual_count + 1);
  CHECK(findings[1].stored_digest != findings[1].actual_digest);
}

}  // namespace
}  // namespace counter::testing
