// WatchCounts on the real server: what a watch is told, how it goes on after a break, and how it
// ends.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "server/consistency_token.h"
#include "tests/integration/fixture.h"
#include "tests/integration/watch_client.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

Settings Fast() { return {{"WATCH_INTERVAL_MILLISECONDS", "20"}}; }

int64_t Watches(const CounterServer& server) {
  return static_cast<int64_t>(MetricOf(server, "counter_watches"));
}

// A channel that takes little before its caller reads: the window does not grow with the line.
std::shared_ptr<grpc::Channel> NarrowChannelTo(const CounterServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'535);
  return grpc::CreateCustomChannel(server.target(), grpc::InsecureChannelCredentials(), arguments);
}

TEST_CASE("a watch begins with the counts of all its items, and goes on with what changes") {
  auto server = StartServer(Fast());
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  WatchClient watch(ChannelTo(*server), {1, 2, 1});
  REQUIRE(watch.Next());
  CHECK(watch.message().snapshot());
  CHECK(watch.message().counts_size() == 2);
  CHECK(watch.counts() == std::map<int64_t, int64_t>{{1, 1}, {2, 0}});
  REQUIRE(client.Like(1, Post(2)).ok());
  REQUIRE(watch.Next());
  CHECK_FALSE(watch.message().snapshot());
  CHECK(watch.message().counts_size() == 1);
  CHECK(watch.counts()[2] == 1);
  REQUIRE(client.Unlike(1, Post(1)).ok());
  CHECK(watch.Until(1, 0));
  watch.Cancel();
  CHECK(watch.End().error_code() == grpc::CANCELLED);
  CHECK(Eventually(absl::Seconds(5), [&] { return Watches(*server) == 0; }));
}

TEST_CASE("a watch that goes on with its tokens is told only of what changed meanwhile") {
  auto server = StartServer(Fast());
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  std::vector<std::string> tokens;
  {
    WatchClient watch(ChannelTo(*server), {1, 2, 3});
    REQUIRE(watch.Next());
    tokens = watch.tokens();
  }
  REQUIRE(tokens.size() == 3);
  {
    WatchClient quiet(ChannelTo(*server), {1, 2, 3}, tokens);
    REQUIRE(quiet.Next());
    CHECK(quiet.message().snapshot());
    CHECK(quiet.message().counts_size() == 0);
  }
  REQUIRE(client.Like(2, Post(1)).ok());
  WatchClient again(ChannelTo(*server), {1, 2, 3}, tokens);
  REQUIRE(again.Next());
  CHECK(again.message().counts_size() == 1);
  CHECK(again.counts()[1] == 2);
  // A token of a write serves as well.
  const std::string written = client.Like(3, Post(1)).value().consistency_token;
  WatchClient of_write(ChannelTo(*server), {1}, {written});
  REQUIRE(of_write.Next());
  CHECK(of_write.message().counts_size() == 0);
}

TEST_CASE("tokens hold over a restart; those of another history of the store are OUT_OF_RANGE") {
  auto server = StartServer(Fast());
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  std::string token;
  {
    WatchClient watch(ChannelTo(*server), {1});
    REQUIRE(watch.Next());
    token = watch.tokens().at(0);
  }
  server->Kill9();
  RestartServer(*server);
  {
    WatchClient watch(ChannelTo(*server), {1}, {token});
    REQUIRE(watch.Next());
    CHECK(watch.message().counts_size() == 0);
  }
  ConsistencyToken other = *DecodeConsistencyToken(token);
  other.timeline = "another";
  WatchClient lost(ChannelTo(*server), {1}, {EncodeConsistencyToken(other)});
  CHECK_FALSE(lost.Next());
  CHECK(lost.End().error_code() == grpc::OUT_OF_RANGE);
  CHECK(lost.End().error_details().find("RESUME_OUT_OF_RANGE") != std::string::npos);
  WatchClient anew(ChannelTo(*server), {1});
  REQUIRE(anew.Next());
  CHECK(anew.counts()[1] == 1);
}

TEST_CASE("a wrong watch is INVALID_ARGUMENT with every field") {
  auto server = StartServer();
  std::vector<int64_t> many;
  for (int64_t id = 1; id <= 101; ++id) many.push_back(id);
  WatchClient too_many(ChannelTo(*server), many);
  CHECK(too_many.End().error_code() == grpc::INVALID_ARGUMENT);
  WatchClient none(ChannelTo(*server), {});
  CHECK(none.End().error_code() == grpc::INVALID_ARGUMENT);
  WatchClient wrong(ChannelTo(*server), {0, 1}, {"garbage"});
  const grpc::Status status = wrong.End();
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  CHECK(status.error_details().find("items[0].item_id") != std::string::npos);
  CHECK(status.error_details().find("consistency_tokens[0]") != std::string::npos);
  many.pop_back();
  WatchClient most(ChannelTo(*server), many);
  REQUIRE(most.Next());
  CHECK(most.message().counts_size() == 100);
}

TEST_CASE("a watch outlives the default deadline, and ends at its own") {
  auto server =
      StartServer({{"DEFAULT_DEADLINE_SECONDS", "1"}, {"WATCH_INTERVAL_MILLISECONDS", "20"}});
  const Client client = ConnectTo(*server);
  WatchClient standing(ChannelTo(*server), {1}, {}, std::nullopt);
  WatchClient with_end(ChannelTo(*server), {1}, {}, absl::Seconds(2));
  REQUIRE(standing.Next());
  CHECK(with_end.End().error_code() == grpc::DEADLINE_EXCEEDED);
  REQUIRE(client.Like(1, Post(1)).ok());
  CHECK(standing.Until(1, 1));
}

TEST_CASE("one watch more than the limit is refused as OVERLOADED, and calls go on") {
  auto server = StartServer({{"WATCHES_MAX", "3"}, {"CALLS_IN_FLIGHT_MAX", "2"}});
  const Client client = ConnectTo(*server);
  std::vector<std::unique_ptr<WatchClient>> watches;
  for (int i = 0; i < 3; ++i) {
    watches.push_back(std::make_unique<WatchClient>(ChannelTo(*server), std::vector<int64_t>{1}));
    REQUIRE(watches.back()->Next());
  }
  CHECK(Watches(*server) == 3);
  CHECK(MetricOf(*server, "counter_watched_items") == 1);
  CHECK(MetricOf(*server, "counter_calls_in_flight") == 0);
  WatchClient refused(ChannelTo(*server), {1});
  CHECK(refused.End().error_code() == grpc::RESOURCE_EXHAUSTED);
  CHECK(refused.End().error_details().find("OVERLOADED") != std::string::npos);
  CHECK(client.Like(1, Post(1)).ok());
  watches.pop_back();
  CHECK(Eventually(absl::Seconds(5), [&] {
    WatchClient next(ChannelTo(*server), {1});
    return next.Next();
  }));
}

TEST_CASE("who reads slowly gets the newest counts, and holds neither memory nor the shutdown") {
  auto server = StartServer(Fast());
  const Client client = ConnectTo(*server);
  std::vector<int64_t> posts;
  for (int64_t id = 1; id <= 100; ++id) posts.push_back(id);
  // Enough messages to fill every buffer on the way: each has 100 counts, some 13 KB.
  WatchClient slow(NarrowChannelTo(*server), posts);
  REQUIRE(slow.Next());
  const int64_t before = server->process().ResidentBytes();
  const int rounds = Sized(60, 600);
  for (int round = 1; round <= rounds; ++round) {
    std::vector<client::Mutation> mutations;
    for (const int64_t id : posts) {
      mutations.push_back({round, Post(id), client::Action::kLike});
    }
    REQUIRE(client.WriteLikes(mutations).ok());
    // A round of the hub, so that each of these could be a message.
    absl::SleepFor(absl::Milliseconds(25));
  }
  CHECK(server->process().ResidentBytes() - before < 64 << 20);
  // It catches up with the last, by fewer messages than there were changes.
  CHECK(slow.Until(100, rounds));

  WatchClient never_reads(NarrowChannelTo(*server), posts);
  for (int round = rounds + 1; round <= rounds + 60; ++round) {
    std::vector<client::Mutation> mutations;
    for (const int64_t id : posts) {
      mutations.push_back({round, Post(id), client::Action::kLike});
    }
    REQUIRE(client.WriteLikes(mutations).ok());
    absl::SleepFor(absl::Milliseconds(25));
  }
  const absl::Time asked = absl::Now();
  StopServer(*server);
  CHECK(absl::Now() - asked < absl::Seconds(6) * Slowness());
}

TEST_CASE("a shutdown ends watches at once as UNAVAILABLE, SHUTTING_DOWN") {
  auto server = StartServer();
  WatchClient watch(ChannelTo(*server), {1});
  REQUIRE(watch.Next());
  std::thread stopper([&] { server->Terminate(); });
  const grpc::Status status = watch.End();
  stopper.join();
  CHECK(status.error_code() == grpc::UNAVAILABLE);
  CHECK(status.error_details().find("SHUTTING_DOWN") != std::string::npos);
  CHECK(server->WaitExit(absl::Seconds(10) * Slowness()).has_value());
}

TEST_CASE("a watch that fails says its request id at its end, too") {
  auto server = StartServer({{"WATCHES_MAX", "1"}});
  WatchClient wrong(ChannelTo(*server), {0});
  CHECK(wrong.End().error_code() == grpc::INVALID_ARGUMENT);
  REQUIRE(Eventually(absl::Seconds(5), [&] { return Watches(*server) == 0; }));
  WatchClient standing(ChannelTo(*server), {1});
  REQUIRE(standing.Next());
  WatchClient refused(ChannelTo(*server), {1});
  CHECK(refused.End().error_code() == grpc::RESOURCE_EXHAUSTED);
  server->Terminate();
  CHECK(standing.End().error_code() == grpc::UNAVAILABLE);
  for (const WatchClient* watch : {&wrong, &refused, &standing}) {
    CHECK(watch->LastRequestId().size() == 32);
    CHECK(watch->LastRequestId() == watch->FirstRequestId());
  }
}

TEST_CASE("many watches of one item are told alike, and cost one read an interval") {
  auto server = StartServer(Fast());
  const Client client = ConnectTo(*server);
  const auto channel = ChannelTo(*server);
  const int count = Sized(200, 1000);
  std::vector<std::unique_ptr<WatchClient>> watches;
  for (int i = 0; i < count; ++i) {
    watches.push_back(std::make_unique<WatchClient>(channel, std::vector<int64_t>{7}));
  }
  for (const auto& watch : watches) REQUIRE(watch->Next());
  // Rounds are counted over a longer time than lookups.
  const double rounds = MetricOf(*server, "counter_watch_rounds_total");
  const double lookups = MetricOf(*server, "counter_cache_lookups_total", {{"cache", "counter"}});
  REQUIRE(client.Like(1, Post(7)).ok());
  for (const auto& watch : watches) CHECK(watch->Until(7, 1));
  const double more = MetricOf(*server, "counter_cache_lookups_total", {{"cache", "counter"}});
  CHECK(more - lookups <= MetricOf(*server, "counter_watch_rounds_total") - rounds + 1);
}

}  // namespace
}  // namespace counter::testing
