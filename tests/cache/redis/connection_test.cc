// The connection on a real Redis 7: logging in, TLS, reconnecting, deadlines, stopping.
#include "cache/redis/connection.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "tests/cache/redis/live_redis.h"
#include "tests/support/workers.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Eventually;
using counter::testing::RedisServer;
using counter::testing::RunWorkers;
using counter::testing::Slowness;

constexpr absl::Duration kBudget = absl::Milliseconds(20);

Commands Echo(const std::string& text) {
  Commands commands;
  commands.Add({"ECHO", text});
  return commands;
}

Answer AskIn(Connection& connection, Commands commands, absl::Duration budget) {
  const MonotonicTime deadline = Clock::System().MonotonicNow() + budget;
  return BlockingWait(Ask(connection, std::move(commands), deadline));
}

std::unique_ptr<RedisServer> StartServer(const RedisServer::Options& options = {}) {
  auto server = RedisServer::Start(options);
  INFO(server.status().ToString());
  REQUIRE(server.ok());
  return *std::move(server);
}

TEST_CASE("connection: many threads are each answered with their own replies") {
  LiveRedis redis;
  constexpr int kThreads = 8;
  constexpr int kCalls = 300;
  std::atomic<int> wrong = 0;
  RunWorkers(kThreads, [&](int worker) {
    for (int i = 0; i < kCalls; ++i) {
      const std::string text = absl::StrCat(worker, ".", i);
      const Answer answer = AskIn(redis.connection(), Echo(text), absl::Seconds(10));
      if (!answer || answer->at(0).text != text) ++wrong;
    }
  });
  CHECK(wrong == 0);
  const ConnectionStats stats = redis.connection().Stats();
  CHECK(stats.answers >= kThreads * kCalls);
  CHECK(stats.writes < stats.requests);
}

TEST_CASE("connection: it logs in as a user and chooses a database") {
  auto server = StartServer();
  REQUIRE(server->Command({"ACL", "SETUSER", "counter", "on", ">s3cret", "~*", "+@all"}) == "OK");
  ConnectionOptions options = OptionsFor(*server);
  options.address.login = {"counter", "s3cret", 3};
  Connection connection(options);
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  Commands commands;
  commands.Add({"ACL", "WHOAMI"});
  commands.Add({"SET", "a", "b"});
  const Answer answer = AskIn(connection, std::move(commands), absl::Seconds(5));
  REQUIRE(answer);
  CHECK(answer->at(0).text == "counter");
  CHECK(server->Command({"GET", "a"}) == "(nil)");
}

TEST_CASE("connection: a wrong password makes it unusable, says so and keeps the secret") {
  auto server = StartServer({.args = {"--requirepass", "right"}, .password = "right"});
  ConnectionOptions options = OptionsFor(*server);
  options.address.login.password = "s3cret";
  Connection connection(options);
  connection.Start();
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().breaks > 1; }));
  CHECK_FALSE(connection.usable());
  CHECK(absl::StrContains(connection.LastTrouble(), "AUTH"));
  CHECK_FALSE(absl::StrContains(connection.LastTrouble(), "s3cret"));
}

TEST_CASE("connection: TLS with an authority that vouches for the server") {
  auto server = StartServer({.tls = true});
  ConnectionOptions options = OptionsFor(*server);
  options.address.tls = true;
  options.address.host = GENERATE("localhost", "127.0.0.1");
  options.address.port = static_cast<uint16_t>(server->tls_port());
  options.tls_ca_file = server->ca_file();
  Connection connection(options);
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  const std::string large(100'000, 'x');
  const Answer answer = AskIn(connection, Echo(large), absl::Seconds(5));
  REQUIRE(answer);
  CHECK(answer->at(0).text == large);
}

TEST_CASE("connection: TLS is refused with a server that nobody vouches for, or a plain one") {
  auto server = StartServer({.tls = true});
  ConnectionOptions options = OptionsFor(*server);
  options.address.tls = true;
  SECTION("an authority unknown to us") {
    options.address.port = static_cast<uint16_t>(server->tls_port());
  }
  SECTION("a certificate for another name") {
    options.address.port = static_cast<uint16_t>(server->tls_port());
    options.address.host = "127.0.0.2";
    options.tls_ca_file = server->ca_file();
  }
  SECTION("no TLS at all") { options.tls_ca_file = server->ca_file(); }
  Connection connection(options);
  connection.Start();
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().breaks > 1; }));
  CHECK_FALSE(connection.usable());
}

TEST_CASE("connection: with nobody there it is not usable, and asking costs no wait") {
  auto server = StartServer();
  const ConnectionOptions options = OptionsFor(*server);
  server->Kill9();
  Connection connection(options);
  connection.Start();
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().breaks > 2; }));
  const MonotonicTime start = Clock::System().MonotonicNow();
  for (int i = 0; i < 1000; ++i) REQUIRE_FALSE(AskIn(connection, Echo("x"), absl::Seconds(60)));
  CHECK(Between(start, Clock::System().MonotonicNow()) < absl::Seconds(10));
  REQUIRE(server->Restart().ok());
  CHECK(BecomesUsable(connection));
}

TEST_CASE("connection: a server that stops answering costs the budget, then nothing, then heals") {
  auto server = StartServer();
  Connection connection(OptionsFor(*server));
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  server->Pause();
  for (int i = 0; i < 5; ++i) CHECK_FALSE(AskIn(connection, Echo("x"), kBudget));
  REQUIRE(Eventually(absl::Seconds(5), [&] { return !connection.usable(); }));
  CHECK(connection.Stats().breaker_opens == 1);
  server->Continue();
  REQUIRE(BecomesUsable(connection));
  const Answer answer = AskIn(connection, Echo("mine"), absl::Seconds(5));
  REQUIRE(answer);
  CHECK(answer->at(0).text == "mine");  // Not one of those that nobody waits for any more.
}

TEST_CASE("connection: a server that stays silent is dropped and connected to again") {
  auto server = StartServer();
  ConnectionOptions options = OptionsFor(*server);
  options.silence_max = absl::Milliseconds(300);
  options.link.attempt_max = absl::Milliseconds(200);
  Connection connection(options);
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  server->Pause();
  CHECK_FALSE(AskIn(connection, Echo("x"), kBudget));
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().breaks >= 2; }));
  server->Continue();
  REQUIRE(BecomesUsable(connection));
  CHECK(AskIn(connection, Echo("x"), absl::Seconds(5)));
}

TEST_CASE("connection: a slow command is answered late to nobody, and the next one right") {
  LiveRedis redis;
  Commands slow;
  slow.Add({"EVAL",
            "local t = redis.call('TIME') repeat local n = redis.call('TIME') until "
            "(n[1] - t[1]) * 1000000 + n[2] - t[2] > 60000 return 'slow'",
            "0"});
  CHECK_FALSE(AskIn(redis.connection(), std::move(slow), kBudget));
  for (int i = 0; i < 3; ++i) {
    const Answer answer = AskIn(redis.connection(), Echo(absl::StrCat(i)), absl::Seconds(5));
    if (!answer) continue;  // The breaker may have opened.
    CHECK(answer->at(0).text == absl::StrCat(i));
  }
}

TEST_CASE("connection: another run of the server is told of, a mere reconnect is not") {
  auto server = StartServer();
  Connection connection(OptionsFor(*server));
  std::atomic<int> new_runs = 0;
  connection.OnNewRun([&](const SlotSet& slots) { new_runs += slots.all() ? 1 : 1000; });
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  server->Command({"CLIENT", "KILL", "TYPE", "normal"});
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().connects == 2; }));
  CHECK(new_runs == 0);
  server->Kill9();
  REQUIRE(server->Restart().ok());
  REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().connects == 3; }));
  CHECK(Eventually(absl::Seconds(5), [&] { return new_runs == 1; }));
  // A replica meanwhile: what it holds may come from another master.
  server->Command({"REPLICAOF", "127.0.0.1", "1"});
  REQUIRE(Eventually(absl::Seconds(10), [&] { return !connection.usable(); }));
  server->Command({"REPLICAOF", "NO", "ONE"});
  REQUIRE(BecomesUsable(connection));
  CHECK(Eventually(absl::Seconds(5), [&] { return new_runs == 2; }));
}

TEST_CASE("connection: a server that takes no writes is not used") {
  auto server = StartServer();
  Connection connection(OptionsFor(*server));
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  SECTION("a replica") {
    // Of a master that is not there.
    REQUIRE(server->Command({"REPLICAOF", "127.0.0.1", "1"}) == "OK");
    CHECK(Eventually(absl::Seconds(10), [&] { return !connection.usable(); }));
    REQUIRE(Eventually(absl::Seconds(10), [&] { return connection.Stats().breaks > 2; }));
    CHECK_FALSE(connection.usable());
    server->Command({"REPLICAOF", "NO", "ONE"});
  }
  SECTION("a master that has not enough replicas") {
    server->Command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    CHECK(Eventually(absl::Seconds(10), [&] { return !connection.usable(); }));
    server->Command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
  CHECK(BecomesUsable(connection));
}

TEST_CASE("connection: stopping ends whatever waits, and asking afterwards is answered") {
  auto server = StartServer();
  Connection connection(OptionsFor(*server));
  connection.Start();
  REQUIRE(BecomesUsable(connection));
  server->Pause();
  constexpr int kWaiting = 50;
  std::atomic<int> ended = 0;
  for (int i = 0; i < kWaiting; ++i) {
    connection.Send({Echo("x"), MonotonicTime::max(), [&](const Answer& answer) {
                       if (!answer) ++ended;
                     }});
  }
  connection.Stop();
  CHECK(ended == kWaiting);
  CHECK_FALSE(AskIn(connection, Echo("x"), kBudget));
  connection.Send({Echo("x"), MonotonicTime::max(), [&](const Answer&) { ++ended; }});
  CHECK(ended == kWaiting + 1);
  connection.Stop();
}

TEST_CASE("connection: K21: it can be stopped at any moment of connecting and breaking") {
  auto server = StartServer();
  for (int i = 0; i < 60; ++i) {
    Connection connection(OptionsFor(*server));
    connection.Start();
    std::atomic<int> ended = 0;
    if (i % 3 == 1) BecomesUsable(connection);
    if (i % 3 == 2) server->Command({"CLIENT", "KILL", "TYPE", "normal"});
    for (int call = 0; call < 20; ++call) {
      connection.Send(
          {Echo("x"), Clock::System().MonotonicNow() + kBudget, [&](const Answer&) { ++ended; }});
    }
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i * 50));
    connection.Stop();
    CHECK(ended == 20);
  }
}

}  // namespace
}  // namespace counter::redis::testing
