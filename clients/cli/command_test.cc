#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/command_runner.h"
#include "clients/cpp/scripted_server.h"

namespace counter::cli {
namespace {

namespace v1 = counter::v1;
using client::MakeStatus;
using client::ScriptedServer;

// Answers counts of 10 times the id, and likes of even ids.
void ScriptReads(ScriptedServer& server) {
  server.on_batch_get_counts = [](grpc::ServerContext&, const v1::BatchGetCountsRequest& request,
                                  v1::BatchGetCountsResponse& response) {
    if (request.items_size() > 1000) return MakeStatus(grpc::INVALID_ARGUMENT, "too many", "");
    for (const v1::Item& item : request.items()) {
      v1::ItemCount& count = *response.add_counts();
      *count.mutable_item() = item;
      count.set_count(10 * item.item_id());
      count.set_source(request.consistency() == v1::CONSISTENCY_STRONG ? v1::SOURCE_PRIMARY
                                                                       : v1::SOURCE_CACHE);
      count.mutable_as_of_time()->set_seconds(1'700'000'000);
    }
    return grpc::Status::OK;
  };
  server.on_has_liked = [](grpc::ServerContext&, const v1::HasLikedRequest& request,
                           v1::HasLikedResponse& response) {
    for (const v1::Item& item : request.items()) response.add_liked(item.item_id() % 2 == 0);
    return grpc::Status::OK;
  };
}

TEST_CASE("like prints item, status and count as a table") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext&, const v1::LikeRequest& request,
                      v1::LikeResponse& response) {
    response.set_status(v1::LIKE_STATUS_LIKED);
    response.set_count(request.user_id() + request.item().item_id());
    response.set_consistency_token("t");
    return grpc::Status::OK;
  };
  const Ran ran = RunWith({"--server", server.target(), "like", "123", "post:456"});
  CHECK(ran.status == 0);
  CHECK(ran.out == "ITEM      STATUS  COUNT\npost:456  LIKED   579\n");
  CHECK(ran.err.empty());
}

TEST_CASE("unlike prints one JSON object with numbers as numbers") {
  ScriptedServer server;
  server.on_unlike = [](grpc::ServerContext&, const v1::UnlikeRequest&,
                        v1::UnlikeResponse& response) {
    response.set_status(v1::UNLIKE_STATUS_NOT_LIKED);
    response.set_count(9223372036854775807);
    response.set_consistency_token("t\"");
    return grpc::Status::OK;
  };
  const Ran ran = RunWith({"unlike", "1", "post:2", "-o", "json", "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(ran.out ==
        "{\"item\":\"post:2\",\"status\":\"NOT_LIKED\",\"count\":9223372036854775807,"
        "\"consistency_token\":\"t\\\"\"}\n");
}

TEST_CASE("count answers many items in their order, and --strong asks the primary") {
  ScriptedServer server;
  ScriptReads(server);
  const Ran table = RunWith({"count", "post:456", "reel:7", "--server", server.target()});
  CHECK(table.status == 0);
  CHECK(table.out ==
        "ITEM      COUNT  SOURCE  AS_OF\n"
        "post:456  4560   CACHE   2023-11-14T22:13:20.000Z\n"
        "reel:7    70     CACHE   2023-11-14T22:13:20.000Z\n");
  const Ran strong =
      RunWith({"count", "post:1", "--strong", "--output", "json", "--server", server.target()});
  const boost::json::value json = boost::json::parse(strong.out);
  CHECK(json.at(0).at("count") == 10);
  CHECK(json.at(0).at("source") == "PRIMARY");
}

TEST_CASE("More items than a call takes are asked for in several calls") {
  ScriptedServer server;
  ScriptReads(server);
  std::vector<std::string> args = {"count", "-o", "json", "--server", server.target()};
  for (int i = 1; i <= 2500; ++i) args.push_back(absl::StrCat("post:", i));
  const Ran ran = RunWith(args);
  REQUIRE(ran.status == 0);
  const boost::json::array json = boost::json::parse(ran.out).as_array();
  REQUIRE(json.size() == 2500);
  CHECK(json[2499].at("item") == "post:2500");
  CHECK(json[2499].at("count") == 25000);
  CHECK(server.calls() == 3);
}

TEST_CASE("has-liked says yes or no for each item") {
  ScriptedServer server;
  ScriptReads(server);
  const Ran ran = RunWith({"has-liked", "5", "post:1", "post:2", "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(ran.out == "ITEM    LIKED\npost:1  no\npost:2  yes\n");
  const Ran json = RunWith({"has-liked", "5", "post:2", "-o", "json", "--server", server.target()});
  CHECK(json.out == "[\n  {\"item\":\"post:2\",\"liked\":true}\n]\n");
}

TEST_CASE("A call that failed exits with 64 + its code, complains on stderr and prints no data") {
  ScriptedServer server;
  server.on_like = [](grpc::ServerContext& context, const v1::LikeRequest&, v1::LikeResponse&) {
    context.AddInitialMetadata("x-request-id", "r1");
    return MakeStatus(grpc::RESOURCE_EXHAUSTED, "100 likes a minute are used up", "RATE_LIMITED");
  };
  const Ran ran = RunWith({"like", "1", "post:2", "--server", server.target()});
  CHECK(ran.status == 72);
  CHECK(ran.out.empty());
  CHECK(ran.err == "counterctl: RATE_LIMITED: 100 likes a minute are used up (request r1)\n");
}

TEST_CASE("A wrong command line exits with 64 and says what was expected") {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{},
                                             {"like"},
                                             {"like", "1"},
                                             {"like", "x", "post:1"},
                                             {"like", "1", "post:1", "post:2"},
                                             {"count"},
                                             {"count", "post"},
                                             {"count", ":1"},
                                             {"count", "post:"},
                                             {"count", "post:1x"},
                                             {"count", "post:9223372036854775808"},
                                             {"count", "post:1", "-o", "xml"},
                                             {"health", "--wait", "soon"},
                                             {"health", "--wait", "-1s"},
                                             {"dislike", "1", "post:1"}}) {
    const Ran ran = RunWith(args);
    CAPTURE(args);
    CHECK(ran.status == 64);
    CHECK(ran.out.empty());
    CHECK_FALSE(ran.err.empty());
  }
  CHECK(absl::StrContains(RunWith({"count", "post"}).err,
                          "expected an item as TYPE:ID, for example post:456, got \"post\""));
}

TEST_CASE("Help is data, shows examples first, and exits with 0") {
  const Ran ran = RunWith({"--help"});
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  const size_t examples = ran.out.find("Examples:");
  REQUIRE(examples != std::string::npos);
  CHECK(examples < ran.out.find("Usage:"));
  for (const char* command : {"like", "unlike", "count", "has-liked", "watch", "import", "export",
                              "bench", "health", "status", "context", "completion"}) {
    const Ran help = RunWith({command, "--help"});
    CAPTURE(command);
    CHECK(help.status == 0);
    const size_t example = help.out.find(absl::StrCat("Examples:\n  counterctl ", command, " "));
    REQUIRE(example != std::string::npos);
    CHECK(example < help.out.find("Usage:"));
  }
  CHECK(RunWith({"--version"}).out == "counterctl 0.1.0\n");
}

TEST_CASE("The server may come from the environment, and the flag wins") {
  ScriptedServer server;
  ScriptReads(server);
  setenv("COUNTER_SERVER", server.target().c_str(), 1);
  CHECK(RunWith({"count", "post:1"}).status == 0);
  setenv("COUNTER_SERVER", "127.0.0.1:1", 1);
  CHECK(RunWith({"count", "post:1", "--server", server.target()}).status == 0);
  unsetenv("COUNTER_SERVER");
}

TEST_CASE("health says whether the server serves, by text and by exit status") {
  ScriptedServer server;
  const Ran serving = RunWith({"health", "--server", server.target()});
  CHECK(serving.status == 0);
  CHECK(serving.out == "STATUS\nSERVING\n");
  server.SetServing(false);
  const Ran not_serving = RunWith({"health", "-o", "json", "--server", server.target()});
  CHECK(not_serving.status == 78);
  CHECK(not_serving.out == "{\"status\":\"NOT_SERVING\"}\n");
  const Ran unknown = RunWith({"health", "--service", "x", "--server", server.target()});
  CHECK(unknown.status == 69);
}

TEST_CASE("health --wait gives up after its time when nobody listens") {
  std::string target;
  {
    const ScriptedServer gone;
    target = gone.target();
  }
  const Ran ran = RunWith({"health", "--wait", "200ms", "--server", target});
  CHECK(ran.status == 78);
  CHECK(ran.out.empty());
}

TEST_CASE("Items may come from a file, and a wrong line in it is a wrong command line") {
  ScriptedServer server;
  ScriptReads(server);
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/items");
  std::ofstream(path) << "post:1\n\n reel:2 \n";
  const Ran ran = RunWith({"count", "--server", server.target(), "--file", path, "post:3"});
  CHECK(ran.status == 0);
  CHECK(absl::StrContains(ran.out, "reel:2  20"));
  CHECK(absl::StrContains(ran.out, "post:3  30"));
  std::ofstream(path) << "post\n";
  CHECK(RunWith({"count", "--server", server.target(), "--file", path}).status == 64);
  CHECK(RunWith({"count", "--server", server.target()}).status == 64);
}

TEST_CASE("A context stands for its server") {
  ScriptedServer server;
  ScriptReads(server);
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/contexts.json");
  setenv("COUNTERCTL_CONFIG", path.c_str(), 1);
  CHECK(RunWith({"context", "set", "prod", server.target()}).status == 0);
  CHECK(RunWith({"context", "set", "gone", "127.0.0.1:1"}).status == 0);
  CHECK(RunWith({"count", "post:1"}).status == 0);  // The first one is current.
  CHECK(RunWith({"--context", "gone", "count", "post:1"}).status == 78);
  CHECK(RunWith({"--context", "gone", "--server", server.target(), "count", "post:1"}).status == 0);
  CHECK(RunWith({"--context", "none", "count", "post:1"}).status == 64);
  CHECK(RunWith({"context", "use", "gone"}).status == 0);
  CHECK(RunWith({"count", "post:1"}).status == 78);
  CHECK(RunWith({"context", "delete", "gone"}).status == 0);
  CHECK(absl::StrContains(RunWith({"context", "list", "-o", "json"}).out, "prod"));
  unsetenv("COUNTERCTL_CONFIG");
}

TEST_CASE("watch writes a line for each new count, and goes on after a break with its tokens") {
  ScriptedServer server;
  std::vector<std::string> known;
  server.on_watch_counts = [&](grpc::ServerContext&, const v1::WatchCountsRequest& request,
                               grpc::ServerWriter<v1::WatchCountsResponse>& writer) {
    known.assign(request.consistency_tokens().begin(), request.consistency_tokens().end());
    const bool is_first = known.empty();
    v1::WatchCountsResponse response;
    for (const v1::Item& item : request.items()) {
      v1::ItemCount& count = *response.add_counts();
      *count.mutable_item() = item;
      count.set_count(is_first ? item.item_id() : 10 * item.item_id());
      count.set_consistency_token(absl::StrCat("t", item.item_id()));
    }
    writer.Write(response);
    return MakeStatus(grpc::UNAVAILABLE, "going", "SHUTTING_DOWN");
  };
  const Ran ran =
      RunWith({"watch", "post:3", "post:4", "--lines", "4", "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(ran.out == "post:3  3\npost:4  4\npost:3  30\npost:4  40\n");
  CHECK(known == std::vector<std::string>{"t3", "t4"});
  const Ran lost = RunWith({"watch", "post:3", "--patience", "0s", "--server", "127.0.0.1:1"});
  CHECK(lost.status == 78);
}

TEST_CASE("What cannot be undone wants --yes") {
  CHECK(RunWith({"admin", "erase-user", "7"}).status == 64);
  CHECK(RunWith({"admin", "delete-item", "post:7"}).status == 64);
  CHECK(RunWith({"admin", "audit", "--page-items", "0"}).status == 64);
}

TEST_CASE("Completion knows every command and option, in each shell") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = RunWith({"completion", shell});
    CHECK(ran.status == 0);
    for (const char* word : {"has-liked", "import", "context", "strong", "patience"})
      CHECK(absl::StrContains(ran.out, word));
  }
  CHECK(RunWith({"completion", "tcsh"}).status == 64);
}

TEST_CASE("status shows every name of health") {
  ScriptedServer server;
  const Ran ran = RunWith({"status", "--server", server.target()});
  CHECK(ran.status == 0);
  CHECK(absl::StrContains(ran.out, "readiness   SERVING"));
  CHECK(absl::StrContains(ran.out, server.target()));
}

TEST_CASE("The manual page knows every command and every long option") {
  std::ifstream file("clients/cli/counterctl.1");
  std::string manual{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  manual = absl::StrReplaceAll(manual, {{"\\-", "-"}});
  REQUIRE_FALSE(manual.empty());
  // The words of the fish script: a command behind -a, a long option behind -l.
  std::istringstream script(RunWith({"completion", "fish"}).out);
  int words = 0;
  for (std::string line; std::getline(script, line);) {
    for (const char* mark : {" -a ", " -l "}) {
      const size_t at = line.find(mark);
      if (at == std::string::npos) continue;
      const std::string word = line.substr(at + 4, line.find(' ', at + 4) - at - 4);
      INFO(word);
      CHECK(absl::StrContains(manual, word));
      ++words;
    }
  }
  CHECK(words > 20);
}

}  // namespace
}  // namespace counter::cli
