// Requests that must be refused: K30 of the fault list, and every field at once.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/integration/fixture.h"
#include "tests/integration/hostile_types.h"

namespace counter::testing {
namespace {

using client::Error;
using client::ErrorKind;
using client::Item;

// REST cannot take the last one: a query is a line of the header.
std::vector<std::string> HostileTypesOverGrpc() {
  std::vector<std::string> types = HostileTypes();
  types.push_back(std::string(100'000, 'a'));
  return types;
}

bool Names(const Error& error, const std::string& field) {
  return std::any_of(error.violations.begin(), error.violations.end(),
                     [&](const client::FieldViolation& v) { return v.field == field; });
}

// Fails the case unless the error refuses exactly this field, before anything was done.
void RequireRefusal(const Error& error, const std::string& field) {
  CAPTURE(field, error.ToString().substr(0, 300));
  REQUIRE(error.kind == ErrorKind::kInvalidArgument);
  REQUIRE(error.reason == "INVALID_REQUEST");
  REQUIRE(error.violations.size() == 1);
  REQUIRE(Names(error, field));
  REQUIRE_FALSE(error.violations[0].description.empty());
  // Whatever came, the answer stays small.
  REQUIRE(error.message.size() < 2000);
  REQUIRE(error.violations[0].description.size() < 1000);
}

TEST_CASE("A hostile item type is refused by every method, naming the field") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  REQUIRE(client.Like(1, Post(1)).ok());
  for (const std::string& type : HostileTypesOverGrpc()) {
    CAPTURE(type.substr(0, 40), type.size());
    const Item hostile = {type, 1};
    RequireRefusal(client.Like(1, hostile).error(), "item.item_type");
    RequireRefusal(client.Unlike(1, hostile).error(), "item.item_type");
    RequireRefusal(client.Count(hostile).error(), "item.item_type");
    RequireRefusal(client.Counts({Post(1), hostile}).error(), "items[1].item_type");
    RequireRefusal(client.HasLiked(1, {Post(1), hostile}).error(), "items[1].item_type");
    const auto batch = client.WriteLikes({{1, Post(1)}, {1, hostile}, {2, Post(2)}});
    REQUIRE(batch.ok());
    CHECK_FALSE(batch->results[0].value().changed);
    RequireRefusal(batch->results[1].error(), "mutations[1].item.item_type");
    CHECK(batch->results[1].error().not_applied);
    CHECK(batch->results[2].ok());
  }
  REQUIRE(server->process().Running());
  CHECK(StrongCount(client, Post(1)) == 1);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("Ids outside 1 to 2^63-1 are refused by every method, and the bounds are accepted") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  for (const int64_t id : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    CAPTURE(id);
    RequireRefusal(client.Like(id, Post(1)).error(), "user_id");
    RequireRefusal(client.Like(1, Post(id)).error(), "item.item_id");
    RequireRefusal(client.Unlike(id, Post(1)).error(), "user_id");
    RequireRefusal(client.Unlike(1, Post(id)).error(), "item.item_id");
    RequireRefusal(client.Count(Post(id)).error(), "item.item_id");
    RequireRefusal(client.Counts({Post(id)}).error(), "items[0].item_id");
    RequireRefusal(client.HasLiked(id, {Post(1)}).error(), "user_id");
    RequireRefusal(client.HasLiked(1, {Post(id)}).error(), "items[0].item_id");
    const auto batch = client.WriteLikes({{id, Post(1)}, {1, Post(id)}});
    REQUIRE(batch.ok());
    RequireRefusal(batch->results[0].error(), "mutations[0].user_id");
    RequireRefusal(batch->results[1].error(), "mutations[1].item.item_id");
  }
  const int64_t max = std::numeric_limits<int64_t>::max();
  CHECK(client.Like(max, Post(max)).value().count == 1);
  CHECK(StronglyLiked(client, max, Post(max)));
  CHECK(StrongCount(client, Post(max)) == 1);
  CHECK(client.Unlike(max, Post(max)).value().count == 0);
}

TEST_CASE("All wrong fields of a request are named at once") {
  auto server = StartServer();
  const Client client = ConnectTo(*server);
  const Error error = client.Like(0, {"nothing", -5}).error();
  CHECK(error.violations.size() == 3);
  CHECK(Names(error, "user_id"));
  CHECK(Names(error, "item.item_type"));
  CHECK(Names(error, "item.item_id"));
  // A request without an item at all.
  v1::CounterService::Stub stub(ChannelTo(*server));
  grpc::ClientContext context;
  v1::LikeResponse response;
  const grpc::Status status = stub.Like(&context, v1::LikeRequest(), &response);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
}

TEST_CASE("An action or a consistency that does not exist is refused") {
  auto server = StartServer();
  v1::CounterService::Stub stub(ChannelTo(*server));
  v1::WriteLikesRequest write;
  for (const int action : {0, 3, -1}) {
    v1::Mutation& mutation = *write.add_mutations();
    mutation.set_user_id(1);
    *mutation.mutable_item() = LikeRequestOf(1, Post(1)).item();
    mutation.set_action(static_cast<v1::Action>(action));
  }
  grpc::ClientContext write_context;
  v1::WriteLikesResponse written;
  REQUIRE(stub.WriteLikes(&write_context, write, &written).ok());
  for (const v1::MutationResult& result : written.results()) {
    CHECK(result.outcome() == v1::OUTCOME_FAILED);
    CHECK(result.error().code() == grpc::INVALID_ARGUMENT);
  }
  v1::GetCountRequest read;
  *read.mutable_item() = LikeRequestOf(1, Post(1)).item();
  read.set_consistency(static_cast<v1::Consistency>(9));
  grpc::ClientContext read_context;
  v1::GetCountResponse count;
  CHECK(stub.GetCount(&read_context, read, &count).error_code() == grpc::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace counter::testing
