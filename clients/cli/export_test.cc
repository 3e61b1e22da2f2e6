#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command_runner.h"
#include "clients/cli/export_ledger.h"
#include "clients/cli/exporter.h"
#include "clients/cpp/scripted_server.h"

namespace counter::cli {
namespace {

namespace v1 = counter::v1;
using client::Client;
using client::MakeStatus;
using client::ScriptedServer;

// A path of a file that is not there, in the folder that Bazel gives to the test.
std::string FreshPath(const std::string& name) {
  std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
  for (const char* end : {"", ".progress", ".errors"}) std::filesystem::remove(path + end);
  return path;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// User u likes the posts 1000 u + k for k from u down to 1; page tokens are the next k. What
// `on_page` answers comes first.
void ScriptLikes(ScriptedServer& server,
                 const std::function<grpc::Status(int64_t user, int64_t first)>& on_page = {}) {
  server.on_list_likes = [on_page](grpc::ServerContext&, const v1::ListLikesRequest& request,
                                   v1::ListLikesResponse& response) {
    const int64_t user = request.user_id();
    if (user < 1) return MakeStatus(grpc::INVALID_ARGUMENT, "user_id: expected 1 or more", "");
    int64_t next = user;
    if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &next))
      return MakeStatus(grpc::INVALID_ARGUMENT, "page_token", "");
    if (on_page) {
      grpc::Status status = on_page(user, next);
      if (!status.ok()) return status;
    }
    for (int i = 0; i < request.page_size() && next > 0; ++i, --next) {
      v1::LikedItem& like = *response.add_likes();
      like.mutable_item()->set_item_type(request.item_types().empty() ? "post"
                                                                      : request.item_types(0));
      like.mutable_item()->set_item_id(1000 * user + next);
      like.mutable_liked_at()->set_seconds(1'700'000'000);
    }
    if (next > 0) response.set_next_page_token(absl::StrCat(next));
    return grpc::Status::OK;
  };
}

TEST_CASE("export writes the likes of users as the CSV that import reads") {
  ScriptedServer server;
  ScriptLikes(server);
  const Ran ran = RunWith({"export", "2", "1", "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(ran.out == "user_id,item_type,item_id\n2,post,2002\n2,post,2001\n1,post,1001\n");
  CHECK(ran.err.empty());
  const ImportLine line = ParseImportLine("2,post,2002", ImportFormat::kCsv);
  REQUIRE(line.mutation.has_value());
  CHECK(line.mutation->item == client::Item{"post", 2002});
}

TEST_CASE("export writes JSON lines that import reads, of the types that were asked for") {
  ScriptedServer server;
  ScriptLikes(server);
  const Ran ran = RunWith({"export", "1", "--format", "json", "--item-types", "reel,post",
                           "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "{\"user_id\":1,\"item_type\":\"reel\",\"item_id\":1001,"
        "\"liked_at\":\"2023-11-14T22:13:20Z\"}\n");
  CHECK(ParseImportLine(ran.out, ImportFormat::kJson).mutation->item == client::Item{"reel", 1001});
}

TEST_CASE("export goes through all pages, and each like is written once") {
  ScriptedServer server;
  ScriptLikes(server);
  const std::string path = FreshPath("pages.csv");
  const Ran ran = RunWith({"export", "2500", "--to", path, "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(server.calls() == 3);
  CHECK(ran.out == "USERS  LIKES  REFUSED\n1      2500   0\n");
  const std::string lines = Contents(path);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2501);
  CHECK(absl::EndsWith(lines, "2500,post,2500002\n2500,post,2500001\n"));
  CHECK_FALSE(std::filesystem::exists(path + ".progress"));
}

TEST_CASE("Users that nobody takes go to the errors file, with their line and what is wrong") {
  ScriptedServer server;
  ScriptLikes(server);
  const std::string users = FreshPath("users.txt");
  std::ofstream(users) << "1\n\nnobody\n0\n 2 \n";
  const std::string path = FreshPath("refused.csv");
  const Ran ran = RunWith({"export", "--file", users, "--to", path, "--server", server.target()});
  CHECK(ran.status == 67);
  CHECK(Contents(path) == "user_id,item_type,item_id\n1,post,1001\n2,post,2002\n2,post,2001\n");
  CHECK(Contents(path + ".errors") ==
        "3\texpected a user's id\tnobody\n4\tuser_id: expected 1 or more\t0\n");
  CHECK(absl::StrContains(ran.err, "2 users were refused"));
}

// Exports the users 1 to 5 by pages of one like into `path`.
std::optional<client::Error> ExportFive(const ScriptedServer& server, const std::string& path,
                                        const std::string& users, ExportTotals& totals) {
  const Client client = Client::Connect({.target = server.target(), .retries = false});
  std::istringstream list(users);
  std::ostringstream unused;
  ExportLedger ledger(path, path + ".errors", unused);
  const std::string fault = ledger.Open();
  if (!fault.empty()) {
    client::Error error;
    error.message = fault;
    return error;
  }
  Exporter exporter(client, list, ledger,
                    {.page_likes_max = 1,
                     .patience = absl::ZeroDuration(),
                     .record_every = absl::ZeroDuration()});
  auto failed = exporter.Run([](const ExportTotals&) {});
  totals = ledger.totals();
  return failed;
}

constexpr char kFive[] = "1\nx\n2\n3\n4\n5\n";

std::string AllOfFive() {
  std::string all = "user_id,item_type,item_id\n";
  for (int user = 1; user <= 5; ++user) {
    for (int k = user; k >= 1; --k) absl::StrAppend(&all, user, ",post,", 1000 * user + k, "\n");
  }
  return all;
}

TEST_CASE("An export that fails at any page goes on there when it is run again, and is whole") {
  for (int failing = 1; failing <= 15; ++failing) {
    ScriptedServer server;
    int pages = 0;
    ScriptLikes(server, [&](int64_t, int64_t) {
      return ++pages == failing ? MakeStatus(grpc::UNAVAILABLE, "gone", "STORE_UNAVAILABLE")
                                : grpc::Status::OK;
    });
    const std::string path = FreshPath("again.csv");
    ExportTotals totals;
    CAPTURE(failing);
    const auto failed = ExportFive(server, path, kFive, totals);
    REQUIRE(failed.has_value());
    CHECK(failed->grpc_code == 14);
    // What a crash left behind the record.
    std::ofstream(path, std::ios::app) << "5,post,half a l";
    REQUIRE_FALSE(ExportFive(server, path, kFive, totals).has_value());
    CHECK(pages == 16);  // No page twice but the one that failed.
    CHECK(Contents(path) == AllOfFive());
    CHECK(Contents(path + ".errors") == "2\texpected a user's id\tx\n");
    CHECK(totals.users == 5);
    CHECK(totals.likes == 15);
    CHECK(totals.refused == 1);
    CHECK_FALSE(std::filesystem::exists(path + ".progress"));
  }
}

TEST_CASE("An export does not go on with another list of users, nor into a file of somebody's") {
  ScriptedServer server;
  ScriptLikes(server, [](int64_t user, int64_t) {
    return user == 4 ? MakeStatus(grpc::UNAVAILABLE, "gone", "") : grpc::Status::OK;
  });
  const std::string path = FreshPath("other.csv");
  ExportTotals totals;
  REQUIRE(ExportFive(server, path, kFive, totals).has_value());
  const std::string written = Contents(path);
  const auto other = ExportFive(server, path, "1\nx\n3\n2\n4\n5\n", totals);
  REQUIRE(other.has_value());
  CHECK(absl::StrContains(other->message, "another list"));
  CHECK(Contents(path) == written);

  const std::string foreign = FreshPath("foreign.csv");
  std::ofstream(foreign) << "dear diary\n";
  const Ran ran = RunWith({"export", "1", "--to", foreign, "--server", server.target()});
  CHECK(ran.status == 64);
  CHECK(Contents(foreign) == "dear diary\n");
}

TEST_CASE("A server that does not list likes ends an export, with the status that says so") {
  const ScriptedServer server;  // UNIMPLEMENTED.
  const Ran ran = RunWith({"export", "1", "--server", server.target()});
  CHECK(ran.status == 76);
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"export"}, {"export", "0"}, {"export", "1", "--file", "-"}, {"export", "x"}})
    CHECK(RunWith(args).status == 64);
}

}  // namespace
}  // namespace counter::cli
