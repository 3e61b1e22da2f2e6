// AdminService on the real server over the embedded store, by its stub and by counterctl.
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/like.h"
#include "storage/sqlite/database.h"
#include "tests/integration/admin_client.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

namespace v1 = counter::admin::v1;
using Stub = v1::AdminService::Stub;

// Likes at a pace that no test meets, unless it asks for one.
Settings WithAdmin(const Settings& more = {}) {
  Settings settings = more;
  settings.insert({{"ADMIN_LISTEN", "127.0.0.1:0"}, {"ADMIN_LIKES_PER_SECOND", "10000000"}});
  return settings;
}

// Changes the store's file behind the server's back, as somebody with sqlite3 would.
void Tamper(const CounterServer& server, const std::string& sql) {
  std::string error;
  const auto database = sqlite::Database::Open(server.data_dir() + "/counter.db",
                                               sqlite::Database::Use::kWrite, 1000, error);
  INFO(error);
  REQUIRE(database != nullptr);
  REQUIRE(database->Execute(sql.c_str()) == sqlite::DatabaseCode::kOk);
}

v1::AuditResponse Audit(Stub& stub, int items_max = 0, const std::string& page_token = "") {
  v1::AuditRequest request;
  request.set_items_max(items_max);
  request.set_page_token(page_token);
  v1::AuditResponse response;
  const grpc::Status status = CallAdmin(stub, &Stub::Audit, request, response);
  INFO(status.error_message());
  REQUIRE(status.ok());
  return response;
}

TEST_CASE("without ADMIN_LISTEN nobody serves AdminService") {
  auto server = StartServer();
  CHECK(server->admin_port() == 0);
  const auto stub = v1::AdminService::NewStub(ChannelTo(*server));
  v1::AuditResponse response;
  CHECK(CallAdmin(*stub, &Stub::Audit, v1::AuditRequest(), response).error_code() ==
        grpc::UNIMPLEMENTED);
}

TEST_CASE("AdminService's listener serves nothing of the callers', nor theirs anything of it") {
  auto server = StartServer(WithAdmin());
  const auto admin_channel =
      grpc::CreateChannel(AdminTarget(*server), grpc::InsecureChannelCredentials());
  const auto callers = counter::v1::CounterService::NewStub(admin_channel);
  grpc::ClientContext context;
  counter::v1::LikeResponse liked;
  CHECK(callers->Like(&context, LikeRequestOf(1, Post(1)), &liked).error_code() ==
        grpc::UNIMPLEMENTED);
  const auto stub = v1::AdminService::NewStub(ChannelTo(*server));
  v1::AuditResponse response;
  CHECK(CallAdmin(*stub, &Stub::Audit, v1::AuditRequest(), response).error_code() ==
        grpc::UNIMPLEMENTED);
  StopServer(*server);
}

TEST_CASE("an audit names exactly what was changed behind the server's back, with both values") {
  auto server = StartServer(WithAdmin());
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 5; ++id) {
    for (int64_t user = 1; user <= 3; ++user) REQUIRE(client.Like(user, Post(id)).ok());
  }
  const auto stub = AdminStub(*server);
  const v1::AuditResponse sound = Audit(*stub);
  CHECK(sound.items_checked() == 5);
  CHECK(sound.findings_total() == 0);
  CHECK(RunAdmin(*server, {"audit"}).status == 0);

  Tamper(*server, "UPDATE counters SET count = count + 4 WHERE item_id = 2");
  Tamper(*server, "DELETE FROM user_likes WHERE item_id = 4 AND user_id = 1");
  const v1::AuditResponse drifted = Audit(*stub);
  REQUIRE(drifted.findings_size() == 2);
  CHECK(drifted.findings_total() == 2);
  const v1::Finding& count = drifted.findings(0);
  CHECK(count.item().item_type() == "post");
  CHECK(count.item().item_id() == 2);
  CHECK(count.stored_count() == 7);
  CHECK(count.actual_count() == 3);
  CHECK(count.stored_digest() == count.actual_digest());
  const v1::Finding& row = drifted.findings(1);
  CHECK(row.item().item_id() == 4);
  CHECK(row.stored_count() == 3);
  CHECK(row.actual_count() == 2);
  CHECK((row.stored_digest() ^ row.actual_digest()) == static_cast<uint64_t>(LikerMix(UserId{1})));

  const cli::Ran ran = RunAdmin(*server, {"audit", "-o", "json"});
  CHECK(ran.status == 1);
  CHECK(absl::StrContains(ran.err, "post:2 differs: its counter says 7 likes"));
  CHECK(absl::StrContains(ran.err, "it has 3"));
  const boost::json::array rows = boost::json::parse(ran.out).as_array();
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].at("item") == "post:4");
  CHECK(rows[1].at("actual_count") == 2);
  CHECK(MetricOf(*server, "counter_admin_items_diverging_total") == 4);
}

TEST_CASE("an audit goes on from its token, and takes no other") {
  auto server = StartServer(WithAdmin());
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 7; ++id) REQUIRE(client.Like(1, Post(id)).ok());
  const auto stub = AdminStub(*server);
  int64_t items = 0;
  int pages = 0;
  std::string token;
  do {
    const v1::AuditResponse page = Audit(*stub, 3, token);
    items += page.items_checked();
    token = page.next_page_token();
    ++pages;
  } while (!token.empty());
  CHECK(items == 7);
  CHECK(pages == 3);

  v1::AuditRequest wrong;
  wrong.set_items_max(1'000'001);
  wrong.set_page_token("garbage");
  v1::AuditResponse response;
  const grpc::Status status = CallAdmin(*stub, &Stub::Audit, wrong, response);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  CHECK(absl::StrContains(status.error_details(), "items_max"));
  CHECK(absl::StrContains(status.error_details(), "page_token"));
  const cli::Ran ran = RunAdmin(*server, {"audit", "--page-token", "garbage"});
  CHECK(ran.status == 67);
}

TEST_CASE("a repair corrects what an audit found, and readers of the cache see it at once") {
  auto server = StartServer(WithAdmin());
  const Client client = ConnectTo(*server);
  for (int64_t user = 1; user <= 3; ++user) REQUIRE(client.Like(user, Post(1)).ok());
  REQUIRE(client.Like(1, Post(2)).ok());
  Tamper(*server, "UPDATE counters SET count = 9, digest = 5 WHERE item_id = 1");
  // The next like takes the wrong count into the cache.
  CHECK(client.Like(4, Post(1)).value().count == 10);
  CHECK(client.Count(Post(1)).value().count.count == 10);
  const cli::Ran ran = RunAdmin(*server, {"repair", "-o", "json"});
  INFO(ran.err);
  CHECK(ran.status == 0);
  const boost::json::array rows = boost::json::parse(ran.out).as_array();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("item") == "post:1");
  CHECK(rows[0].at("stored_count") == 10);
  CHECK(rows[0].at("count_now") == 4);
  const auto now = client.Count(Post(1));
  CHECK(now.value().count.count == 4);
  CHECK(now.value().count.source == client::Source::kCache);
  CHECK(RunAdmin(*server, {"audit"}).status == 0);
  CHECK(RunAdmin(*server, {"repair", "-o", "json"}).out == "[]\n");
  CHECK(MetricOf(*server, "counter_admin_counters_repaired_total") == 1);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("what comes too soon is RATE_LIMITED with a time to come again, and counterctl waits") {
  auto server = StartServer(WithAdmin({{"ADMIN_AUDITED_ITEMS_PER_SECOND", "20"}}));
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 30; ++id) REQUIRE(client.Like(1, Post(id)).ok());
  const auto stub = AdminStub(*server);
  CHECK(Audit(*stub).items_checked() == 30);
  v1::AuditResponse response;
  const grpc::Status status = CallAdmin(*stub, &Stub::Audit, v1::AuditRequest(), response);
  CHECK(status.error_code() == grpc::RESOURCE_EXHAUSTED);
  CHECK(absl::StrContains(status.error_details(), "RATE_LIMITED"));
  CHECK(absl::StrContains(status.error_details(), "RetryInfo"));
  const absl::Time begun = absl::Now();
  const cli::Ran ran = RunAdmin(*server, {"audit", "--page-items", "10"});
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(absl::StrContains(ran.err, "30 items recounted, 0 differ"));
  // The first page waited for the audit before, the others for 10 items each.
  CHECK(absl::Now() - begun > absl::Seconds(1));
}

TEST_CASE("likes are taken back no faster than the setting says") {
  auto server = StartServer(WithAdmin({{"ADMIN_LIKES_PER_SECOND", "20"}}));
  const Client client = ConnectTo(*server);
  for (int64_t id = 1; id <= 30; ++id) REQUIRE(client.Like(7, Post(id)).ok());
  const auto stub = AdminStub(*server);
  v1::EraseUserRequest request;
  request.set_user_id(7);
  v1::EraseUserResponse response;
  REQUIRE(CallAdmin(*stub, &Stub::EraseUser, request, response).ok());
  CHECK(response.likes_removed() == 30);
  // A second and a half for what was taken back.
  const grpc::Status status = CallAdmin(*stub, &Stub::EraseUser, request, response);
  CHECK(status.error_code() == grpc::RESOURCE_EXHAUSTED);
  CHECK(absl::StrContains(status.error_details(), "RATE_LIMITED"));
}

TEST_CASE("a user who is erased likes nothing any more, and every count is lower by one") {
  auto server = StartServer(WithAdmin());
  const Client client = ConnectTo(*server);
  std::vector<client::Mutation> mutations;
  for (int64_t id = 1; id <= 1000; ++id) mutations.push_back({7, Post(id), client::Action::kLike});
  REQUIRE(client.WriteLikes(mutations).ok());
  for (int64_t id = 1; id <= 30; ++id) {
    REQUIRE(client.Like(7, {"reel", id}).ok());
    REQUIRE(client.Like(8, {"reel", id}).ok());
  }
  CHECK(client.Count(Post(1)).value().count.count == 1);  // The cache has it.
  CHECK(client.HasLiked(7, {Post(1)}).value().liked[0]);
  CHECK(RunAdmin(*server, {"erase-user", "7"}).status == 64);  // Without --yes.
  CHECK(StronglyLiked(client, 7, Post(1)));
  const cli::Ran ran = RunAdmin(*server, {"erase-user", "7", "--yes", "-o", "json"});
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(boost::json::parse(ran.out).at("likes_removed") == 1030);
  CHECK(client.ListLikes(7).value().likes.empty());
  CHECK(client.Count(Post(1)).value().count.count == 0);
  CHECK_FALSE(client.HasLiked(7, {Post(1)}).value().liked[0]);
  CHECK(client.Count({"reel", 3}).value().count.count == 1);
  CHECK(client.ListLikes(8).value().likes.size() == 30);
  // Again: nothing is left to do.
  const cli::Ran again = RunAdmin(*server, {"erase-user", "7", "--yes", "-o", "json"});
  CHECK(boost::json::parse(again.out).at("likes_removed") == 0);
  CHECK(RunAdmin(*server, {"audit"}).status == 0);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("an item that is deleted has no likes, and its version goes on, with and without index") {
  const bool indexed = GENERATE(false, true);
  CAPTURE(indexed);
  auto server = StartServer(WithAdmin({{"LIKERS_INDEX", indexed ? "true" : "false"}}));
  const Client client = ConnectTo(*server);
  std::vector<client::Mutation> mutations;
  for (int64_t user = 1; user <= 1000; ++user) {
    mutations.push_back({user, Post(5), client::Action::kLike});
  }
  REQUIRE(client.WriteLikes(mutations).ok());
  for (int64_t user = 995; user <= 1005; ++user) REQUIRE(client.Like(user, Post(5)).ok());
  for (int64_t user = 1; user <= 3; ++user) REQUIRE(client.Like(user, Post(6)).ok());
  const auto before = client.Count(Post(5)).value().count;
  CHECK(before.count == 1005);
  CHECK(RunAdmin(*server, {"delete-item", "post:5"}).status == 64);  // Without --yes.
  const cli::Ran ran = RunAdmin(*server, {"delete-item", "post:5", "--yes", "-o", "json"});
  INFO(ran.err);
  CHECK(ran.status == 0);
  CHECK(boost::json::parse(ran.out).at("likes_removed") == 1005);
  CHECK(boost::json::parse(ran.out).at("count") == 0);
  CHECK(client.Count(Post(5)).value().count.count == 0);
  CHECK_FALSE(client.HasLiked(1, {Post(5)}).value().liked[0]);
  CHECK(StrongCount(client, Post(6)) == 3);
  // The counter's row is there, so that the token of before is of an older version.
  const auto read = client.Count(Post(5), {.consistency_tokens = {before.consistency_token}});
  CHECK(read.value().count.count == 0);
  CHECK(client.Like(1, Post(5)).value().count == 1);
  CHECK(RunAdmin(*server, {"audit"}).status == 0);
  StopServer(*server);
  RequireSoundStore(*server);
}

TEST_CASE("a deletion goes on from its token, and takes no other item's") {
  auto server = StartServer(WithAdmin());
  const Client client = ConnectTo(*server);
  for (int64_t user = 1; user <= 20; ++user) REQUIRE(client.Like(user, Post(1)).ok());
  const auto stub = AdminStub(*server);
  v1::DeleteItemRequest request;
  request.mutable_item()->set_item_type("post");
  request.mutable_item()->set_item_id(1);
  request.set_likes_max(7);
  int parts = 0;
  int64_t removed = 0;
  std::string token;
  do {
    v1::DeleteItemResponse response;
    request.set_page_token(token);
    const grpc::Status status = CallAdmin(*stub, &Stub::DeleteItem, request, response);
    INFO(status.error_message());
    REQUIRE(status.ok());
    removed += response.likes_removed();
    CHECK(response.count() == 20 - removed);
    token = response.next_page_token();
    if (!token.empty()) {
      v1::DeleteItemRequest other = request;
      other.mutable_item()->set_item_id(2);
      other.set_page_token(token);
      CHECK(CallAdmin(*stub, &Stub::DeleteItem, other, response).error_code() ==
            grpc::INVALID_ARGUMENT);
    }
    ++parts;
  } while (!token.empty());
  CHECK(removed == 20);
  CHECK(parts == 3);
}

TEST_CASE("everything that is wrong with an erasure or a deletion is named at once") {
  auto server = StartServer(WithAdmin());
  const auto stub = AdminStub(*server);
  v1::EraseUserRequest erase;
  erase.set_likes_max(1001);
  v1::EraseUserResponse erased;
  grpc::Status status = CallAdmin(*stub, &Stub::EraseUser, erase, erased);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  CHECK(absl::StrContains(status.error_details(), "user_id"));
  CHECK(absl::StrContains(status.error_details(), "likes_max"));
  v1::DeleteItemRequest remove;
  remove.mutable_item()->set_item_type("nothing");
  remove.set_likes_max(-1);
  remove.set_page_token("garbage");
  v1::DeleteItemResponse removed;
  status = CallAdmin(*stub, &Stub::DeleteItem, remove, removed);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  for (const char* field : {"item.item_type", "item.item_id", "likes_max", "page_token"}) {
    CAPTURE(field);
    CHECK(absl::StrContains(status.error_details(), field));
  }
}

TEST_CASE("an import charges nobody's rate limit, and its refused lines are named") {
  auto server =
      StartServer(WithAdmin({{"RATE_LIMIT_REQUESTS", "5"}, {"ADMIN_LIKES_PER_SECOND", "10000"}}));
  const Client client = ConnectTo(*server);
  const TempDir folder;
  std::ofstream file(folder.File("likes.csv"));
  file << "user_id,item_type,item_id\n";
  for (int64_t id = 1; id <= 2500; ++id) file << "7,post," << id << '\n';
  file << "7,nothing,1\n";
  file.close();
  const cli::Ran ran = RunAdmin(*server, {"import", folder.File("likes.csv"), "-o", "json"});
  INFO(ran.err);
  CHECK(ran.status == 67);
  const boost::json::value totals = boost::json::parse(ran.out);
  CHECK(totals.at("changed") == 2500);
  CHECK(totals.at("refused") == 1);
  CHECK(StrongCount(client, Post(2500)) == 1);
  // The user has all of the limit, and still one.
  for (int64_t id = 3001; id <= 3005; ++id) CHECK(client.Like(7, Post(id)).ok());
  CHECK(client.Like(7, Post(3006)).error().kind == client::ErrorKind::kRateLimited);
  CHECK(MetricOf(*server, "counter_admin_likes_written_total") == 2500);
  CHECK(RunAdmin(*server, {"audit"}).status == 0);
}

// The result of each layer of one item: {"primary", "equal"}.
std::map<std::string, std::string> CheckOne(const CounterServer& server, const std::string& item,
                                            int expected_status) {
  const cli::Ran ran = cli::RunWith(
      {"check", "--admin-server", AdminTarget(server), "-o", "json", "--wait", "0s", item});
  INFO(ran.out << ran.err);
  CHECK(ran.status == expected_status);
  std::map<std::string, std::string> results;
  const boost::json::value rows = boost::json::parse(ran.out);
  for (const boost::json::value& row : rows.as_array())
    results[std::string(row.at("layer").as_string())] = std::string(row.at("result").as_string());
  return results;
}

TEST_CASE("a check of the embedded store compares its cache, its counter and its likes") {
  using Results = std::map<std::string, std::string>;
  auto server = StartServer(WithAdmin({{"CHECK_WRITES_PER_SECOND", "10"}}));
  const Client client = ConnectTo(*server);
  REQUIRE(client.Count(Post(1)).ok());  // Cached from here on.
  for (int64_t user = 1; user <= 3; ++user) REQUIRE(client.Like(user, Post(1)).ok());
  CHECK(CheckOne(*server, "post:1", 0) ==
        Results{{"local", "equal"}, {"primary", "equal"}, {"recount", "equal"}});
  CHECK(CheckOne(*server, "post:2", 0) ==
        Results{{"local", "absent"}, {"primary", "equal"}, {"recount", "equal"}});
  Tamper(*server, "UPDATE counters SET count = 9 WHERE item_id = 1");
  CHECK(CheckOne(*server, "post:1", 1) ==
        Results{{"local", "equal"}, {"primary", "diverged"}, {"recount", "diverged"}});
  // What was sampled is found wrong by the server itself.
  CHECK(Eventually(absl::Seconds(20), [&] {
    return MetricOf(*server, "counter_check_copies_total",
                    {{"layer", "primary"}, {"result", "diverged"}}) > 0;
  }));
  Tamper(*server, "UPDATE counters SET count = 3 WHERE item_id = 1");
  Tamper(*server, "DELETE FROM user_likes WHERE item_id = 1 AND user_id = 2");
  CHECK(CheckOne(*server, "post:1", 1) ==
        Results{{"local", "diverged"}, {"primary", "diverged"}, {"recount", "diverged"}});
}

TEST_CASE("a check of too many items, or of wrong ones, names the fields") {
  auto server = StartServer(WithAdmin());
  const auto stub = AdminStub(*server);
  v1::CheckRequest request;
  request.add_items()->set_item_type("post");
  counter::v1::Item& wrong = *request.add_items();
  wrong.set_item_type("nothing");
  wrong.set_item_id(1);
  v1::CheckResponse response;
  grpc::Status status = CallAdmin(*stub, &Stub::Check, request, response);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  for (const char* field : {"items[0].item_id", "items[1].item_type"}) {
    CAPTURE(field);
    CHECK(absl::StrContains(status.error_details(), field));
  }
  for (int64_t id = 1; id <= 101; ++id) {
    counter::v1::Item& item = *request.add_items();
    item.set_item_type("post");
    item.set_item_id(id);
  }
  status = CallAdmin(*stub, &Stub::Check, request, response);
  CHECK(status.error_code() == grpc::INVALID_ARGUMENT);
  // Nothing was sampled: nothing is to be said.
  REQUIRE(CallAdmin(*stub, &Stub::Check, v1::CheckRequest(), response).ok());
  CHECK(response.items().empty());
  CHECK(response.tallies().empty());
  CHECK_FALSE(response.has_first_diverging());
}

}  // namespace
}  // namespace counter::testing
