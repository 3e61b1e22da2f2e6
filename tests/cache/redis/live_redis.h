// LiveRedis: a real Redis 7 and a connection to it that is ready.
//
// One server a test program, started when it is first asked for; each LiveRedis has a connection of
// its own and begins with an empty server. Threads: as RedisServer.
#ifndef COUNTER_TESTS_CACHE_REDIS_LIVE_REDIS_H_
#define COUNTER_TESTS_CACHE_REDIS_LIVE_REDIS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/task.h"
#include "cache/redis/connection.h"
#include "tests/support/eventually.h"
#include "tests/support/redis_server.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {

inline ConnectionOptions OptionsFor(const counter::testing::RedisServer& server) {
  ConnectionOptions options;
  options.address.port = static_cast<uint16_t>(server.port());
  options.seed = counter::testing::TestSeed() | 1U;
  return options;
}

// Whether the connection becomes usable in time.
inline bool BecomesUsable(const Connection& connection,
                          absl::Duration deadline = absl::Seconds(10)) {
  return counter::testing::Eventually(deadline * counter::testing::Slowness(),
                                      [&] { return connection.usable(); });
}

class LiveRedis {
 public:
  LiveRedis() : connection_(OptionsFor(server())) {
    REQUIRE(server().Command({"FLUSHALL"}) == "OK");
    connection_.Start();
    REQUIRE(BecomesUsable(connection_));
  }

  static counter::testing::RedisServer& server() {
    static const std::unique_ptr<counter::testing::RedisServer> server = [] {
      auto started = counter::testing::RedisServer::Start();
      INFO(started.status().ToString());
      REQUIRE(started.ok());
      return *std::move(started);
    }();
    return *server;
  }
  Connection& connection() { return connection_; }

  // The replies, which are waited for as long as it takes.
  std::vector<Reply> Ask(Commands commands) {
    Answer answer =
        BlockingWait(redis::Ask(connection_, std::move(commands), MonotonicTime::max()));
    REQUIRE(answer.has_value());
    return *std::move(answer);
  }
  Reply Ask(const std::vector<std::string>& parts) {
    Commands commands;
    commands.Add(std::vector<absl::string_view>(parts.begin(), parts.end()));
    return Ask(std::move(commands)).at(0);
  }

 private:
  Connection connection_;
};

}  // namespace counter::redis::testing

#endif  // COUNTER_TESTS_CACHE_REDIS_LIVE_REDIS_H_
