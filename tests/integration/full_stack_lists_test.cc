// Lists through two real servers over one PostgreSQL: pages of one list from both, and the index of
// likers made by counterd migrate beside them.
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>

#include "tests/integration/fixture.h"
#include "tests/integration/full_stack.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

std::unique_ptr<v1::CounterService::Stub> StubOf(FullStack& stack, int i) {
  return v1::CounterService::NewStub(ChannelTo(stack.server(i)));
}

// Runs counterd migrate; its exit code.
int Migrate(const FullStack& stack, const std::string& what) {
  Process::Options options;
  options.argv = {FromEnvironment("COUNTERD"), "migrate", what};
  options.env = Process::BaseEnv();
  options.env["DATABASE_URL"] = UrlOf(stack.database());
  options.env["ITEM_TYPES"] = "post=1,reel=2";
  options.env["LIKERS_INDEX"] = "true";
  absl::StatusOr<Process> process = Process::Start(options);
  REQUIRE(process.ok());
  const auto ended = process->Wait(absl::Seconds(60) * Slowness());
  REQUIRE(ended.has_value());
  return ended->code;
}

TEST_CASE("the pages of a list may come from different servers") {
  FullStack stack;
  for (int64_t id = 1; id <= 30; ++id) {
    REQUIRE(stack.client(static_cast<int>(id % 2)).Like(1, Post(id)).ok());
  }
  std::set<int64_t> seen;
  std::string token;
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListLikesRequest request;
    request.set_user_id(1);
    request.set_page_size(7);
    request.set_page_token(token);
    v1::ListLikesResponse response;
    REQUIRE(StubOf(stack, pages % 2)->ListLikes(&context, request, &response).ok());
    for (const v1::LikedItem& like : response.likes()) {
      CHECK(seen.insert(like.item().item_id()).second);
    }
    token = response.next_page_token();
    ++pages;
  } while (!token.empty());
  CHECK(seen.size() == 30);
  CHECK(pages == 5);
}

TEST_CASE("counterd migrate makes the index of likers, and servers that are up use it") {
  FullStack stack;
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  const auto likers = [&](int server) {
    grpc::ClientContext context;
    v1::ListLikersRequest request;
    request.mutable_item()->set_item_type("post");
    request.mutable_item()->set_item_id(1);
    v1::ListLikersResponse response;
    const grpc::Status status = StubOf(stack, server)->ListLikers(&context, request, &response);
    return status.ok() ? response.likers_size() : -static_cast<int>(status.error_code());
  };
  CHECK(likers(0) == -grpc::FAILED_PRECONDITION);
  CHECK(Migrate(stack, "status") == 1);
  REQUIRE(Migrate(stack, "up") == 0);
  CHECK(Migrate(stack, "status") == 0);
  CHECK(Migrate(stack, "up") == 0);
  REQUIRE(stack.client(1).Like(2, Post(1)).ok());
  CHECK(likers(0) == 2);
  CHECK(likers(1) == 2);
}

}  // namespace
}  // namespace counter::testing
