#include "clients/load/workload.h"

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "proto/counter/v1/counter.pb.h"

#include <grpcpp/support/slice.h>

namespace counter::load {
namespace {

using Method = Workload::Method;

std::unique_ptr<Workload> Make(const Workload::Settings& settings) {
  auto workload = Workload::Make(settings);
  REQUIRE(workload.ok());
  return *std::move(workload);
}

template <typename Message>
Message Parsed(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  REQUIRE(bytes.DumpToSingleSlice(&slice).ok());
  Message message;
  REQUIRE(message.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  return message;
}

grpc::ByteBuffer Bytes(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

TEST_CASE("calls come in the shares of their weights") {
  const auto workload = Make({.calls = "GetCount=9,Like=1"});
  std::mt19937_64 random(1);
  std::map<Method, int> counts;
  for (int i = 0; i < 10'000; ++i) ++counts[workload->Next(random).method];
  CHECK(counts.size() == 2);
  CHECK(counts[Method::kLike] == Approx(1000).epsilon(0.1));
}

TEST_CASE("a write batch has a new user for each mutation") {
  const auto workload = Make({.calls = "WriteLikes", .users_first = 10, .batch = 3});
  std::mt19937_64 random(1);
  std::set<int64_t> users;
  for (int i = 0; i < 2; ++i) {
    const auto request = Parsed<v1::WriteLikesRequest>(workload->Next(random).request);
    REQUIRE(request.mutations_size() == 3);
    for (const auto& mutation : request.mutations()) {
      CHECK(mutation.action() == v1::ACTION_LIKE);
      CHECK(mutation.item().item_type() == "post");
      users.insert(mutation.user_id());
    }
  }
  CHECK(users == std::set<int64_t>{10, 11, 12, 13, 14, 15});
}

TEST_CASE("what a user liked can be told from the user alone") {
  const auto workload = Make({.calls = "WriteLikes",
                              .items = "zipf:1000",
                              .item_type = "reel",
                              .items_first = int64_t{1} << 62,
                              .item_of_user = true,
                              .users_first = 500,
                              .batch = 300});
  std::mt19937_64 random(1);
  const auto request = Parsed<v1::WriteLikesRequest>(workload->Next(random).request);
  std::set<int64_t> items;
  for (const auto& mutation : request.mutations()) {
    CHECK(mutation.item().item_id() == workload->ItemOf(mutation.user_id()));
    CHECK(mutation.item().item_type() == "reel");
    items.insert(mutation.item().item_id());
  }
  CHECK(workload->users_drawn() == 300);
  // Neighbours among the users do not share an item but by chance.
  CHECK(items.size() > 50);
  CHECK(*items.begin() >= int64_t{1} << 62);
  CHECK(*items.rbegin() < (int64_t{1} << 62) + 1000);
  CHECK(!Workload::Make({.items = "walk:9", .item_of_user = true}).ok());
  CHECK(!Workload::Make({.item_of_user = true, .users = "hot"}).ok());
}

TEST_CASE("the likes that owners are filled with are those that HasLiked asks for") {
  const auto fill =
      Make({.calls = "WriteLikes", .items = "walk:6", .users = "owner", .batch = 6, .own = 3});
  std::mt19937_64 random(1);
  std::map<int64_t, std::set<int64_t>> likes;
  const auto filled = Parsed<v1::WriteLikesRequest>(fill->Next(random).request);
  for (const auto& mutation : filled.mutations()) {
    likes[mutation.user_id()].insert(mutation.item().item_id());
  }
  CHECK(likes == std::map<int64_t, std::set<int64_t>>{{1, {1, 2, 3}}, {2, {4, 5, 6}}});

  const auto asked = Make({.calls = "HasLiked", .users = "uniform:2", .batch = 3, .own = 3});
  for (int i = 0; i < 10; ++i) {
    const auto request = Parsed<v1::HasLikedRequest>(asked->Next(random).request);
    for (const auto& item : request.items())
      CHECK(likes[request.user_id()].count(item.item_id()) == 1);
  }
}

TEST_CASE("cold items are a share of the read ones and never come twice") {
  const auto workload =
      Make({.calls = "BatchGetCounts", .items = "uniform:100", .batch = 100, .cold_share = 0.05});
  std::mt19937_64 random(1);
  std::multiset<int64_t> cold;
  for (int i = 0; i < 100; ++i) {
    const auto request = Parsed<v1::BatchGetCountsRequest>(workload->Next(random).request);
    for (const auto& item : request.items()) {
      if (item.item_id() > 100) cold.insert(item.item_id());
    }
  }
  CHECK(cold.size() == Approx(500).epsilon(0.2));
  CHECK(std::set<int64_t>(cold.begin(), cold.end()).size() == cold.size());
}

TEST_CASE("an answer that is not what was asked for is wrong") {
  const auto likes = Make({.calls = "Like"});
  v1::LikeResponse like;
  like.set_count(1);
  like.set_status(v1::LIKE_STATUS_LIKED);
  CHECK(!likes->Judge(Method::kLike, Bytes(like)).wrong);
  CHECK(likes->Judge(Method::kLike, Bytes(like)).changed == 1);
  like.set_status(v1::LIKE_STATUS_ALREADY_LIKED);
  CHECK(likes->Judge(Method::kLike, Bytes(like)).wrong);  // Of a user who is new.
  CHECK(!Make({.calls = "Like", .users = "item"})->Judge(Method::kLike, Bytes(like)).wrong);
  CHECK(likes->Judge(Method::kLike, Bytes(v1::LikeResponse())).wrong);

  const auto batches = Make({.calls = "WriteLikes", .batch = 1});
  v1::WriteLikesResponse batch;
  CHECK(batches->Judge(Method::kWriteLikes, Bytes(batch)).wrong);
  v1::MutationResult& result = *batch.add_results();
  result.set_outcome(v1::OUTCOME_LIKED);
  result.set_count(1);
  CHECK(!batches->Judge(Method::kWriteLikes, Bytes(batch)).wrong);
  result.mutable_error()->set_code(14);
  CHECK(batches->Judge(Method::kWriteLikes, Bytes(batch)).wrong);

  const auto memberships = Make({.calls = "HasLiked", .users = "uniform:2", .batch = 1, .own = 1});
  v1::HasLikedResponse liked;
  liked.add_liked(false);
  CHECK(memberships->Judge(Method::kHasLiked, Bytes(liked)).wrong);
}

TEST_CASE("a bad setting is refused by name and value") {
  const auto refused = [](const Workload::Settings& settings, const std::string& words) {
    CAPTURE(words);
    const auto workload = Workload::Make(settings);
    REQUIRE(!workload.ok());
    CHECK(std::string(workload.status().message()).find(words) != std::string::npos);
  };
  refused({.calls = "Likes"}, "calls: \"Likes\"");
  refused({.calls = "Like=0"}, "calls: \"Like=0\"");
  refused({.calls = ""}, "calls: \"\"");
  refused({.items = "cold"}, "items: \"cold\"");
  refused({.users = "old"}, "users: \"old\"");
  refused({.users = "uniform:5", .batch = 50, .own = 49}, "own: 49");
  refused({.users = "owner"}, "own: 0");
}

}  // namespace
}  // namespace counter::load
