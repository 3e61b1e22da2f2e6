#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/import_ledger.h"
#include "clients/cli/import_line.h"
#include "clients/cli/importer.h"
#include "clients/cpp/scripted_server.h"

namespace counter::cli {
namespace {

namespace v1 = counter::v1;
using client::Action;
using client::Client;
using client::MakeRpcStatus;
using client::ScriptedServer;

// A path of a file that is not there, in the folder that Bazel gives to the test.
std::string FreshPath(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name);
  std::filesystem::remove(path);
  return path;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST_CASE("A line of CSV is a like, or what its fourth column says") {
  const ImportLine like = ParseImportLine("9223372036854775807, post ,2\r", ImportFormat::kCsv);
  REQUIRE(like.mutation.has_value());
  CHECK(like.mutation->user_id == INT64_MAX);
  CHECK(like.mutation->item == client::Item{"post", 2});
  CHECK(like.mutation->action == Action::kLike);
  CHECK(ParseImportLine("1,post,2,unlike", ImportFormat::kCsv).mutation->action == Action::kUnlike);
  for (const char* none : {"", "  ", "user_id,item_type,item_id"}) {
    const ImportLine line = ParseImportLine(none, ImportFormat::kCsv);
    CHECK((!line.mutation.has_value() && line.fault.empty()));
  }
  for (const char* wrong :
       {"1,post", "x,post,2", "1,,2", "1,post,2x", "1,post,2,love", "1,a,2,like,3"})
    CHECK_FALSE(ParseImportLine(wrong, ImportFormat::kCsv).fault.empty());
}

TEST_CASE("A line of JSON takes ids as numbers and as texts") {
  const ImportLine line = ParseImportLine(
      R"({"user_id": "9223372036854775807", "item_type": "post", "item_id": 2, "action": "unlike"})",
      ImportFormat::kJson);
  REQUIRE(line.mutation.has_value());
  CHECK(line.mutation->user_id == INT64_MAX);
  CHECK(line.mutation->item.id == 2);
  CHECK(line.mutation->action == Action::kUnlike);
  for (const char* wrong : {"[]", "{", R"({"user_id": 1.5, "item_type": "post", "item_id": 2})"})
    CHECK_FALSE(ParseImportLine(wrong, ImportFormat::kJson).fault.empty());
}

TEST_CASE("The ledger moves past a batch only when all before it have ended") {
  const std::string errors = FreshPath("order.errors");
  ImportLedger ledger(FreshPath("order.progress"), errors, 100);
  CHECK(ledger.End(1, {60, {5, 5, 0, 0}, {"second"}}).empty());
  CHECK(ledger.offset() == 0);
  CHECK(ledger.totals().lines == 0);
  CHECK(ledger.End(0, {30, {5, 4, 1, 0}, {"first"}}).empty());
  CHECK(ledger.offset() == 60);
  CHECK(ledger.totals().changed == 9);
  CHECK(Contents(errors) == "first\nsecond\n");
}

TEST_CASE("A ledger goes on where the last one recorded, and forgets later refusals") {
  const std::string progress = FreshPath("resume.progress");
  const std::string errors = FreshPath("resume.errors");
  {
    ImportLedger ledger(progress, errors, 100);
    REQUIRE(ledger.End(0, {30, {5, 4, 0, 1}, {"first"}}).empty());
    REQUIRE(ledger.Record().empty());
    REQUIRE(ledger.End(1, {60, {5, 4, 0, 1}, {"second"}}).empty());  // Then it is killed.
  }
  CHECK(Contents(errors) == "first\nsecond\n");
  ImportLedger ledger(progress, errors, 100);
  REQUIRE(ledger.Resume().empty());
  CHECK(ledger.offset() == 30);
  CHECK(ledger.totals().refused == 1);
  REQUIRE(ledger.End(0, {60, {5, 4, 0, 1}, {"second"}}).empty());
  CHECK(Contents(errors) == "first\nsecond\n");
  ImportLedger other(progress, errors, 101);
  CHECK_FALSE(other.Resume().empty());
}

// Runs an import of `text` and returns its totals.
ImportTotals ImportText(const ScriptedServer& server, const std::string& text,
                        Importer::Options options, const std::string& errors) {
  const Client client = Client::Connect({.target = server.target()});
  std::istringstream input(text);
  ImportLedger ledger("", errors, 0);
  Importer importer(Importer::WriteLikesOf(client), input, ledger, options);
  const auto failed = importer.Run([](int64_t, const ImportTotals&) {});
  CHECK_FALSE(failed.has_value());
  return ledger.totals();
}

TEST_CASE(
    "What the server cannot take now is tried again, alone; what it never takes is an error") {
  ScriptedServer server;
  std::atomic<int> limited = 0;
  server.on_write_likes = [&](grpc::ServerContext&, const v1::WriteLikesRequest& request,
                              v1::WriteLikesResponse& response) {
    if (server.calls() == 1) return grpc::Status(grpc::RESOURCE_EXHAUSTED, "busy");
    for (const v1::Mutation& mutation : request.mutations()) {
      v1::MutationResult& result = *response.add_results();
      if (mutation.user_id() == 2 && ++limited == 1)
        *result.mutable_error() = MakeRpcStatus(grpc::RESOURCE_EXHAUSTED, "", "RATE_LIMITED", true);
      else if (mutation.user_id() == 3)
        *result.mutable_error() =
            MakeRpcStatus(grpc::INVALID_ARGUMENT, "bad", "INVALID_REQUEST", true);
      else
        result.set_outcome(v1::OUTCOME_LIKED);
    }
    return grpc::Status::OK;
  };
  // RESOURCE_EXHAUSTED without a reason of the service is for good: not of a batch that fits.
  const Client client = Client::Connect({.target = server.target()});
  std::istringstream input("1,post,1\n");
  ImportLedger nothing("", FreshPath("none.errors"), 0);
  Importer importer(Importer::WriteLikesOf(client), input, nothing, {});
  CHECK(importer.Run([](int64_t, const ImportTotals&) {}).has_value());

  const std::string errors = FreshPath("again.errors");
  const ImportTotals totals =
      ImportText(server, "1,post,1\n2,post,1\n3,post,1\nnonsense\n", {}, errors);
  CHECK(totals.lines == 4);
  CHECK(totals.changed == 2);
  CHECK(totals.refused == 2);
  CHECK(limited == 2);
  CHECK(Contents(errors).find("3\tbad\t3,post,1\n") != std::string::npos);
}

TEST_CASE("A batch with an unlike runs alone, so that lines of one pair keep their order") {
  ScriptedServer server;
  std::atomic<int> running = 0;
  std::atomic<bool> alone = true;
  server.on_write_likes = [&](grpc::ServerContext&, const v1::WriteLikesRequest& request,
                              v1::WriteLikesResponse& response) {
    const int together = ++running;
    for (const v1::Mutation& mutation : request.mutations()) {
      if (mutation.action() == v1::ACTION_UNLIKE && together != 1) alone = false;
      response.add_results()->set_outcome(v1::OUTCOME_LIKED);
    }
    absl::SleepFor(absl::Milliseconds(5));
    if (request.mutations(0).action() == v1::ACTION_UNLIKE && running != 1) alone = false;
    --running;
    return grpc::Status::OK;
  };
  std::string text;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&text, "1,post,1", i % 3 == 0 ? ",unlike\n" : "\n");
  Importer::Options options;
  options.batch_lines_max = 1;
  const ImportTotals totals = ImportText(server, text, options, FreshPath("alone.errors"));
  CHECK(totals.changed == 60);
  CHECK(alone);
}

}  // namespace
}  // namespace counter::cli
