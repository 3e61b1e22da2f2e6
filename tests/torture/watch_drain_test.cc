// A server that ends under everything that stands or does not read: watches, people at the live
// page, clients that ask for much and take nothing. It is gone in time, and watchers go on
// elsewhere.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "clients/cpp/client.h"
#include "clients/cpp/watch.h"
#include "tests/integration/watch_client.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp.h"
#include "tests/support/test_settings.h"
#include "tests/torture/stage.h"

namespace counter::testing {
namespace {

constexpr int64_t kWatched = 7;

// Somebody who watches a post: on one server until that ends, then on another with what is known.
class Watcher {
 public:
  Watcher(const client::Client& first, const client::Client& second)
      : first_(first), second_(second), thread_([this] { Run(); }) {}
  ~Watcher() { thread_.join(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  int snapshots() const { return snapshots_; }
  int64_t count() const { return count_; }
  // Of the watch on the first server. Requires that there were two snapshots.
  const std::optional<client::Error>& first_end() const { return first_end_; }
  absl::Time first_ended_at() const { return first_ended_at_; }
  // The watch ends with its next message.
  void Stop() { stop_ = true; }

 private:
  void Run() {
    first_end_ = WatchOn(first_);
    first_ended_at_ = absl::Now();
    WatchOn(second_);
  }

  // What ended the watch, but for Stop().
  std::optional<client::Error> WatchOn(const client::Client& client) {
    client::Watch watch =
        client.WatchCounts({{"post", kWatched}}, {.consistency_tokens = tokens_, .resumes = false},
                           {.deadline = absl::Minutes(1)});
    while (true) {
      const client::Result<client::CountsUpdate> update = watch.Next();
      if (!update.ok()) return update.error();
      for (const client::ItemCount& count : update->counts) {
        tokens_ = {count.consistency_token};
        count_ = count.count;
      }
      if (update->snapshot) ++snapshots_;
      if (stop_) return std::nullopt;
    }
  }

  const client::Client& first_;
  const client::Client& second_;
  std::vector<std::string> tokens_;  // Of its thread.
  std::atomic<int> snapshots_ = 0;
  std::atomic<int64_t> count_ = -1;
  std::atomic<bool> stop_ = false;
  std::optional<client::Error> first_end_;
  absl::Time first_ended_at_;
  std::thread thread_;
};

// Sends so many requests at once, and reads nothing.
LoopbackConnection AskAndTakeNothing(int port, const std::string& path, int times) {
  auto connection = LoopbackConnection::Open(port, absl::Now() + absl::Minutes(1));
  REQUIRE(connection.ok());
  std::string requests;
  for (int i = 0; i < times; ++i) requests += "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  REQUIRE(connection->Send(requests).ok());
  return *std::move(connection);
}

// A channel that takes little before its caller reads: the window does not grow with the line.
std::shared_ptr<grpc::Channel> NarrowChannelTo(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'535);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// Changes of a hundred posts, often enough to fill every buffer on the way to who does not read.
void ChangeMany(const client::Client& client, const std::vector<int64_t>& posts) {
  for (int64_t round = 1; round <= 60; ++round) {
    std::vector<client::Mutation> mutations;
    for (const int64_t post : posts)
      mutations.push_back({round, {"post", post}, client::Action::kLike});
    REQUIRE(client.WriteLikes(mutations).ok());
    // A round of the hub, so that each of these could be a message.
    absl::SleepFor(absl::Milliseconds(25));
  }
}

TEST_CASE("Watchers and readers who do not read hold up no drain, and watchers go on elsewhere") {
  Stage stage(
      {.servers = 2, .settings = {{"DRAIN_SECONDS", "30"}, {"WATCH_INTERVAL_MILLISECONDS", "20"}}});
  CounterServer& server = stage.server(0);
  const client::Client here = client::Client::Connect({.target = server.target()});
  const client::Client there = client::Client::Connect({.target = stage.server(1).target()});
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 100; ++i) watchers.push_back(std::make_unique<Watcher>(here, there));
  const auto all = [&watchers](const auto& is_so) {
    return Eventually(absl::Seconds(10) * Slowness(), [&] {
      return std::all_of(watchers.begin(), watchers.end(),
                         [&](const auto& watcher) { return is_so(*watcher); });
    });
  };
  // Nothing is required before they are told to stop: they would watch on.
  CHECK(all([](const Watcher& watcher) { return watcher.snapshots() == 1; }));
  CHECK(there.Like(1, {"post", kWatched}).ok());
  CHECK(all([](const Watcher& watcher) { return watcher.count() == 1; }));

  std::vector<LoopbackConnection> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(AskAndTakeNothing(server.http_port(), "/live", 1));
  for (int i = 0; i < 5; ++i)
    silent.push_back(AskAndTakeNothing(server.http_port(), "/openapi.json", 500));
  std::vector<int64_t> posts;
  for (int64_t post = 1001; post <= 1100; ++post) posts.push_back(post);
  WatchClient slow(NarrowChannelTo(server.target()), posts);
  CHECK(slow.Next());
  ChangeMany(there, posts);

  const absl::Time begin = absl::Now();
  server.Terminate();
  // A client of HTTP has a second to take its answer; the calls alone may take all of the drain.
  CHECK(server.WaitExit(absl::Seconds(10) * Slowness()) == ExitStatus{0, 0});
  WARN("it took " << absl::FormatDuration(absl::Now() - begin));

  CHECK(all([](const Watcher& watcher) { return watcher.snapshots() == 2; }));
  CHECK(there.Like(2, {"post", kWatched}).ok());
  CHECK(all([](const Watcher& watcher) { return watcher.count() == 2; }));
  for (const auto& watcher : watchers) watcher->Stop();
  CHECK(there.Like(3, {"post", kWatched}).ok());
  absl::Duration slowest;
  int told = 0;
  for (const auto& watcher : watchers) {
    if (watcher->snapshots() < 2 || !watcher->first_end().has_value()) continue;
    slowest = std::max(slowest, watcher->first_ended_at() - begin);
    const client::Error& end = *watcher->first_end();
    told += end.kind == client::ErrorKind::kUnavailable && end.reason == "SHUTTING_DOWN" ? 1 : 0;
  }
  WARN("the last watcher was told after " << absl::FormatDuration(slowest));
  CHECK(told == 100);
  CHECK(slowest < absl::Seconds(2) * Slowness());
  watchers.clear();
  CHECK(stage.End().drifts.empty());
}

}  // namespace
}  // namespace counter::testing
