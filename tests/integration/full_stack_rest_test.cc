// REST in front of PostgreSQL and Redis: K27 on two servers by both ways in, and what /health says
// of a part that is gone.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

TEST_CASE("K27: parallel likes of one pair by gRPC and REST on two servers are one like") {
  FullStack stack;
  constexpr int kThreads = 64;
  constexpr int kCalls = 1000;
  std::atomic<int> next = 0;
  std::atomic<int> liked = 0;
  std::atomic<int> failed = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const int server = thread % FullStack::kServers;
      HttpClient rest(stack.server(server).http_port());
      while (next++ < kCalls) {
        if (thread % 4 < 2) {
          const auto reply = stack.client(server).Like(1, Post(1));
          if (!reply.ok()) ++failed;
          if (reply.ok() && reply->changed) ++liked;
        } else {
          const HttpClient::Answer answer =
              rest.Post("/v1/like", R"({"user_id": 1, "item_id": 1})");
          if (answer.status != 200) ++failed;
          if (absl::StrContains(answer.body, "\"liked\"")) ++liked;
        }
      }
    });
  }
  threads.clear();
  CHECK(failed == 0);
  CHECK(liked == 1);
  CHECK(StrongCount(stack.client(0), Post(1)) == 1);
  stack.RequireSound();
}

TEST_CASE("health names the part that is gone, and is well again when it is back") {
  FullStack stack;
  HttpClient client(stack.server(0).http_port());
  const auto health_is = [&](const std::string& body) {
    return Eventually(absl::Seconds(20) * Slowness(),
                      [&] { return client.Get("/health").body == body; });
  };
  CHECK(health_is(R"({"status":"ok","database":"healthy","redis":"healthy"})"));
  stack.redis().Kill9();
  CHECK(health_is(R"({"status":"degraded","database":"healthy","redis":"unhealthy"})"));
  CHECK(client.Get("/health").status == 200);
  CHECK(client.Post("/v1/like", R"({"user_id": 1, "item_id": 1})").status == 200);
}

}  // namespace
}  // namespace counter::testing
