// Rolling restarts: three servers, a thousand calls a second by our C++ client as it comes, and
// nobody notices. And a start before its PostgreSQL.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "clients/cpp/client.h"
#include "clients/cpp/health.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp.h"
#include "tests/support/test_settings.h"
#include "tests/torture/stage.h"

namespace counter::testing {
namespace {

// Calls at a fixed rate through one client; writes down those that failed.
class Callers {
 public:
  Callers(const client::Client& client, double rate)
      : client_(client), rate_(rate), thread_([this] { Run(); }) {}
  ~Callers() { Stop(); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int64_t calls() const { return started_; }
  int64_t failed() const { return failed_; }
  std::string errors() {
    MutexLock lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& [error, count] : errors_) lines.push_back(absl::StrCat(count, " x ", error));
    return absl::StrJoin(lines, "\n");
  }

 private:
  void Run() {
    const absl::Time start = absl::Now();
    while (!stop_) {
      const absl::Time due = start + absl::Seconds(static_cast<double>(started_) / rate_);
      const absl::Time now = absl::Now();
      if (now < due) {
        absl::SleepFor(due - now);
        continue;
      }
      Call(started_++);
    }
    while (ended_ < started_) absl::SleepFor(absl::Milliseconds(5));
  }

  void Call(int64_t number) {
    const client::Item item = {"post", 1 + number % 100};
    const int64_t user = 1 + number / 4 % 5000;
    switch (number % 4) {
      case 0:
        return client_.LikeAsync(user, item, Done<client::LikeReply>());
      case 1:
        return client_.UnlikeAsync(user, item, Done<client::UnlikeReply>());
      case 2:
        return client_.CountAsync(item, {}, Done<client::CountReply>());
      default:
        return client_.HasLikedAsync(user, {item}, {}, Done<client::HasLikedReply>());
    }
  }

  template <class Reply>
  client::Client::Done<Reply> Done() {
    return [this](const client::Result<Reply>& result) {
      if (!result.ok()) {
        MutexLock lock(mutex_);
        ++failed_;
        ++errors_[result.error().ToString().substr(0, 200)];
      }
      ++ended_;
    };
  }

  const client::Client& client_;
  const double rate_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> started_ = 0;
  std::atomic<int64_t> ended_ = 0;
  std::atomic<int64_t> failed_ = 0;
  Mutex mutex_;
  std::map<std::string, int64_t> errors_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Since it was started.
double LikesServedBy(const CounterServer& server) {
  const auto metrics = server.Metrics();
  return metrics.ok() ? metrics->Sum("grpc_server_handled_total",
                                     {{"grpc_method", "Like"}, {"grpc_code", "OK"}})
                      : 0;
}

TEST_CASE("Rolling restarts of three servers under a thousand calls a second fail no call") {
  Stage stage({.servers = 3});
  std::vector<std::string> addresses;
  for (int i = 0; i < stage.servers(); ++i) addresses.push_back(stage.server(i).target());
  const client::Client client =
      client::Client::Connect({.target = "ipv4:" + absl::StrJoin(addresses, ",")});
  REQUIRE(client.Like(1, {"post", 1}).ok());
  Callers callers(client, 1000);
  absl::Duration slowest;
  for (int round = 0; round < Sized(3, 20); ++round) {
    absl::SleepFor(absl::Milliseconds(500));
    CounterServer& server = stage.server(round % stage.servers());
    const absl::Time begin = absl::Now();
    server.Terminate();
    REQUIRE(server.WaitExit(absl::Seconds(12) * Slowness()) == ExitStatus{0, 0});
    slowest = std::max(slowest, absl::Now() - begin);
    REQUIRE(server.Restart().ok());
    // The client finds it again before the next one goes.
    REQUIRE(Eventually(absl::Seconds(10) * Slowness(), [&] { return LikesServedBy(server) > 0; }));
  }
  callers.Stop();
  WARN(callers.calls() << " calls, " << callers.failed() << " failed; the slowest server took "
                       << absl::FormatDuration(slowest) << " to end");
  INFO(callers.errors());
  CHECK(callers.failed() == 0);
  CHECK(callers.calls() > 1000);
  CHECK(stage.End().drifts.empty());
}

TEST_CASE("A watcher of health and a reader that reads nothing do not hold up a server that ends") {
  Stage stage({.embedded = true, .settings = {{"DRAIN_SECONDS", "3"}}});
  CounterServer& server = stage.server(0);
  // Our client watches health on its connection, and has no call under way.
  const client::Client watcher = client::Client::Connect({.target = server.target()});
  REQUIRE(watcher.Count({"post", 1}).ok());
  auto silent = LoopbackConnection::Open(server.http_port(), absl::Now() + absl::Minutes(1));
  REQUIRE(silent.ok());
  REQUIRE(silent->Send("GET /live HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  const absl::Time begin = absl::Now();
  server.Terminate();
  CHECK(server.WaitExit(absl::Seconds(4) * Slowness()) == ExitStatus{0, 0});
  WARN("it took " << absl::FormatDuration(absl::Now() - begin));
  REQUIRE(server.Restart().ok());
}

TEST_CASE(
    "A server that starts before its PostgreSQL says so, waits, and serves when it is there") {
  Stage stage({});
  CounterServer& server = stage.server(0);
  stage.postgres().StopFast();
  server.Terminate();
  REQUIRE(server.WaitExit(absl::Seconds(15) * Slowness()) == ExitStatus{0, 0});
  REQUIRE(server.Restart().ok());
  const client::HealthProbe probe(server.target());
  const auto serves = [&probe](const char* service) {
    const auto health = probe.Check(service, absl::Seconds(2));
    return health.ok() && *health == client::Health::kServing;
  };
  CHECK_FALSE(serves(""));
  CHECK_FALSE(serves("counter.v1.CounterService"));
  CHECK(serves("calls"));
  CHECK(serves("liveness"));
  REQUIRE(stage.postgres().Restart().ok());
  CHECK(Eventually(absl::Seconds(3) * Slowness(), [&] { return serves(""); }));
  CHECK(stage.AwaitService(absl::Seconds(5) * Slowness()));
  // Not in a loop: each link waits longer each time, up to a second (link_state.h).
  CHECK(stage.server(0).process().Running());
}

}  // namespace
}  // namespace counter::testing
