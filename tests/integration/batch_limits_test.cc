// Sizes of requests: K31 of the fault list.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/integration/fixture.h"

namespace counter::testing {
namespace {

using client::Error;
using client::ErrorKind;
using client::Item;
using client::Mutation;

constexpr int64_t kCap = 1000;
constexpr int64_t kGrowthBytesMax = 32 << 20;

std::vector<Item> Posts(int64_t n) {
  std::vector<Item> items;
  for (int64_t id = 1; id <= n; ++id) items.push_back(Post(id));
  return items;
}

std::vector<Mutation> LikesOf(const std::vector<Item>& items) {
  std::vector<Mutation> mutations;
  for (const Item& item : items) mutations.push_back({1, item});
  return mutations;
}

void RequireTooMany(const Error& error, const std::string& field) {
  INFO(error.ToString());
  REQUIRE(error.kind == ErrorKind::kInvalidArgument);
  REQUIRE(error.violations.size() == 1);
  REQUIRE(error.violations[0].field == field);
  REQUIRE(absl::StrContains(error.violations[0].description, "1000"));
}

TEST_CASE("An empty batch is an empty OK") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  CHECK(client.WriteLikes({}).value().results.empty());
  CHECK(client.Counts({}).value().counts.empty());
  CHECK(client.HasLiked(1, {}).value().liked.empty());
}

TEST_CASE("One and 1000 are accepted, 1001 are refused naming the cap, and nothing is applied") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  for (const int64_t n : {int64_t{1}, kCap}) {
    CAPTURE(n);
    const auto written = client.WriteLikes(LikesOf(Posts(n)));
    REQUIRE(written.ok());
    CHECK(std::all_of(written->results.begin(), written->results.end(),
                      [](const auto& result) { return result.ok() && result->count == 1; }));
    CHECK(client.Counts(Posts(n)).value().counts.size() == static_cast<size_t>(n));
    CHECK(client.HasLiked(1, Posts(n)).value().liked == std::vector<bool>(n, true));
  }
  std::vector<Item> fresh;
  for (int64_t id = 5001; id <= 5001 + kCap; ++id) fresh.push_back(Post(id));
  RequireTooMany(client.WriteLikes(LikesOf(fresh)).error(), "mutations");
  RequireTooMany(client.Counts(fresh).error(), "items");
  RequireTooMany(client.HasLiked(1, fresh).error(), "items");
  CHECK(StrongCount(client, Post(5001)) == 0);
  const std::vector<std::string> tokens(kCap + 1, "x");
  RequireTooMany(client.Counts({Post(1)}, {.consistency_tokens = tokens}).error(),
                 "consistency_tokens");
}

TEST_CASE("Answer i is of request i: duplicates are repeated, any order is kept") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  // Post i has i likes.
  std::vector<Mutation> likes;
  for (int64_t id = 1; id <= 40; ++id) {
    for (int64_t user = 1; user <= id; ++user) likes.push_back({user, Post(id)});
  }
  REQUIRE(client.WriteLikes(likes).ok());
  std::vector<int64_t> ids;
  for (int64_t id = 45; id >= 0; --id) ids.insert(ids.end(), 3, id + 1);
  std::rotate(ids.begin(), ids.begin() + 50, ids.end());
  std::vector<Item> items;
  for (const int64_t id : ids) items.push_back(Post(id));
  for (const auto consistency : {client::Consistency::kCached, client::Consistency::kStrong}) {
    const auto counts = client.Counts(items, {.consistency = consistency});
    REQUIRE(counts.ok());
    const auto liked = client.HasLiked(20, items, {.consistency = consistency});
    REQUIRE(liked.ok());
    for (size_t i = 0; i < ids.size(); ++i) {
      CAPTURE(i, ids[i]);
      CHECK(counts->counts[i].item == items[i]);
      CHECK(counts->counts[i].count == (ids[i] <= 40 ? ids[i] : 0));
      CHECK(liked->liked[i] == (ids[i] >= 20 && ids[i] <= 40));
    }
  }
  const auto same = client.Counts(std::vector<Item>(kCap, Post(7)));
  REQUIRE(same.ok());
  CHECK(std::all_of(same->counts.begin(), same->counts.end(),
                    [](const client::ItemCount& count) { return count.count == 7; }));
}

TEST_CASE("One bad id refuses a read, and only its own mutation of a write") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  std::vector<Item> items = Posts(kCap);
  items[617].id = 0;
  CHECK(client.Counts(items).error().violations.at(0).field == "items[617].item_id");
  CHECK(client.HasLiked(1, items).error().violations.at(0).field == "items[617].item_id");
  const auto written = client.WriteLikes(LikesOf(items));
  REQUIRE(written.ok());
  for (size_t i = 0; i < written->results.size(); ++i) {
    CAPTURE(i);
    CHECK(written->results[i].ok() == (i != 617));
  }
}

TEST_CASE("Hundreds of bad fields still make one readable answer") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  std::vector<Item> items(kCap, Item{"nothing", 0});
  const Error error = client.Counts(items).error();
  CHECK(error.kind == ErrorKind::kInvalidArgument);
  CHECK(error.reason == "INVALID_REQUEST");
  CHECK(error.violations.size() >= 3);
}

TEST_CASE("A message of more than the limit is refused by its size") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  const auto error = client.Like(1, {std::string(5 << 20, 'a'), 1}).error();
  CHECK(error.kind == ErrorKind::kResourceExhausted);
  const Error many = client.Counts(Posts(1'000'000)).error();
  CHECK(many.kind == ErrorKind::kResourceExhausted);
  CHECK(client.Like(2, Post(1)).value().count == 2);
}

// How much the server's memory rose, at its highest, while `call` ran.
template <class Call>
int64_t GrowthDuring(CounterServer& server, const Call& call) {
  server.process().ResetPeak();
  const int64_t before = server.process().ResidentBytes();
  call();
  return server.process().PeakResidentBytes() - before;
}

TEST_CASE("As many items as a message can hold cost the server less than 32 MiB") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  // Each item is 2 bytes on the wire and far more once parsed.
  v1::BatchGetCountsRequest request;
  for (int i = 0; i < 1'000'000; ++i) request.add_items();
  v1::CounterService::Stub stub(ChannelTo(*server));
  const auto call = [&] {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
    v1::BatchGetCountsResponse response;
    return stub.BatchGetCounts(&context, request, &response);
  };
  REQUIRE(client.Counts(Posts(kCap)).ok());  // What the server allocates once, it has now.
  grpc::Status status;
  const int64_t growth = GrowthDuring(*server, [&] { status = call(); });
  INFO(status.error_message());
  CHECK((status.error_code() == grpc::INVALID_ARGUMENT ||
         status.error_code() == grpc::RESOURCE_EXHAUSTED));
  CAPTURE(growth >> 20);
  CHECK(growth < kGrowthBytesMax);
  // And with ids.
  request.clear_items();
  for (int64_t id = 1; id <= 300'000; ++id) {
    request.add_items()->set_item_type("post");
    request.mutable_items()->rbegin()->set_item_id(id);
  }
  const int64_t growth_of_ids = GrowthDuring(*server, [&] { status = call(); });
  CAPTURE(growth_of_ids >> 20);
  CHECK(growth_of_ids < kGrowthBytesMax);
  CHECK(client.Like(1, Post(1)).ok());
}

}  // namespace
}  // namespace counter::testing
