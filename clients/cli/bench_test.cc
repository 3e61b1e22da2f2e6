#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cli/command_runner.h"
#include "clients/cpp/scripted_server.h"

namespace counter::cli {
namespace {

namespace v1 = counter::v1;
using client::MakeStatus;
using client::ScriptedServer;

constexpr int64_t kOwnIdsFirst = int64_t{1} << 62;

// The likes that a server holds, as the calls of a bench leave them.
class Likes {
 public:
  explicit Likes(ScriptedServer& server) {
    server.on_write_likes = [this](grpc::ServerContext&, const v1::WriteLikesRequest& request,
                                   v1::WriteLikesResponse& response) {
      const std::lock_guard lock(mutex_);
      for (const v1::Mutation& mutation : request.mutations()) {
        const bool like = mutation.action() == v1::ACTION_LIKE;
        Change(mutation.user_id(), mutation.item(), like);
        v1::MutationResult& result = *response.add_results();
        result.set_outcome(like ? v1::OUTCOME_LIKED : v1::OUTCOME_UNLIKED);
        result.set_count(1);
      }
      return grpc::Status::OK;
    };
    server.on_like = [this](grpc::ServerContext&, const v1::LikeRequest& request,
                            v1::LikeResponse& response) {
      const std::lock_guard lock(mutex_);
      Change(request.user_id(), request.item(), true);
      response.set_status(v1::LIKE_STATUS_LIKED);
      response.set_count(1);
      if (made_ == interrupt_after) ::kill(::getpid(), SIGINT);
      return grpc::Status::OK;
    };
  }

  size_t held() const { return held_.size(); }
  int made() const { return made_; }
  bool all_own() const { return all_own_; }
  int interrupt_after = -1;

 private:
  void Change(int64_t user, const v1::Item& item, bool like) {
    const std::tuple<int64_t, std::string, int64_t> pair = {user, item.item_type(), item.item_id()};
    all_own_ = all_own_ && user >= kOwnIdsFirst && item.item_id() >= kOwnIdsFirst;
    if (like) {
      ++made_;
      held_.insert(pair);
    } else {
      held_.erase(pair);
    }
  }

  std::mutex mutex_;  // Guards the others while calls are made.
  std::set<std::tuple<int64_t, std::string, int64_t>> held_;
  int made_ = 0;
  bool all_own_ = true;
};

Ran Bench(const ScriptedServer& server, std::vector<std::string> options,
          const std::string& duration = "200ms", const std::string& format = "json") {
  options.insert(options.begin(), {"bench", "--server", server.target(), "-o", format, "--warm-up",
                                   "0s", "--duration", duration});
  return RunWith(options);
}

TEST_CASE("bench without --yes refuses to write, says where, and makes no call") {
  for (const char* mix : {"Like", "Unlike", "WriteLikes", "GetCount=99,Like=1"}) {
    ScriptedServer server;
    const Ran ran = Bench(server, {"--mix", mix});
    CAPTURE(mix);
    CHECK(ran.status == 64);
    CHECK(absl::StrContains(ran.err, server.target()));
    CHECK(absl::StrContains(ran.err, "--yes"));
    CHECK(ran.out.empty());
    CHECK(server.calls() == 0);
  }
}

TEST_CASE("bench reads items of its own only, without --yes") {
  ScriptedServer server;
  std::atomic<bool> all_own = true;
  server.on_get_count = [&all_own](grpc::ServerContext&, const v1::GetCountRequest& request,
                                   v1::GetCountResponse& response) {
    if (request.item().item_id() < kOwnIdsFirst || request.item().item_type() != "reel")
      all_own = false;
    response.set_source(v1::SOURCE_CACHE);
    return grpc::Status::OK;
  };
  const Ran ran = Bench(server, {"--item-type", "reel"});
  REQUIRE(ran.status == 0);
  CHECK(all_own);
  const boost::json::value json = boost::json::parse(ran.out);
  CHECK(json.at("loop") == "closed");
  CHECK(json.at("calls") == server.calls());
  CHECK(json.at("methods").at(0).at("method") == "GetCount");
  CHECK(json.at("methods").at(0).at("p50_us").as_int64() > 0);
}

TEST_CASE("bench takes back each like that it made, and --keep keeps them") {
  for (const char* mix : {"WriteLikes", "Like=1,WriteLikes=1"}) {
    ScriptedServer server;
    const Likes likes(server);
    const Ran ran = Bench(server, {"--mix", mix, "--yes", "--batch", "7", "--items", "zipf:50"});
    CAPTURE(mix, ran.err);
    CHECK(ran.status == 0);
    CHECK(likes.made() > 0);
    CHECK(likes.held() == 0);
    CHECK(likes.all_own());
  }
  ScriptedServer server;
  const Likes likes(server);
  CHECK(Bench(server, {"--mix", "Like", "--yes", "--keep"}).status == 0);
  CHECK(likes.held() == static_cast<size_t>(likes.made()));
}

TEST_CASE("bench that is interrupted prints no result and takes its likes back") {
  ScriptedServer server;
  Likes likes(server);
  likes.interrupt_after = 20;
  const Ran ran = Bench(server, {"--mix", "Like", "--yes"}, "60s");
  CHECK(ran.status == 130);
  CHECK(ran.out.empty());
  CHECK(likes.made() >= 20);
  CHECK(likes.held() == 0);
}

TEST_CASE("bench repeats no call: each failure is counted, and the exit status names it") {
  ScriptedServer server;
  server.on_get_count = [](grpc::ServerContext&, const v1::GetCountRequest&,
                           v1::GetCountResponse&) {
    return MakeStatus(grpc::UNAVAILABLE, "gone", "STORE_UNAVAILABLE");
  };
  const Ran ran = Bench(server, {"--rate", "100"});
  CHECK(ran.status == 78);
  const boost::json::value json = boost::json::parse(ran.out);
  CHECK(json.at("calls") == 0);
  CHECK(json.at("error_UNAVAILABLE") == 20);
  CHECK(server.calls() == 20);
}

TEST_CASE("bench at a rate makes so many calls, and drops none that the server keeps up with") {
  ScriptedServer server;
  server.on_get_count = [](grpc::ServerContext&, const v1::GetCountRequest&,
                           v1::GetCountResponse& response) {
    response.set_source(v1::SOURCE_CACHE);
    return grpc::Status::OK;
  };
  const Ran ran = Bench(server, {"--rate", "200"});
  CHECK(ran.status == 0);
  const boost::json::value json = boost::json::parse(ran.out);
  CHECK(json.at("loop") == "open");
  CHECK(json.at("rate_offered") == 200);
  CHECK(json.at("calls") == 40);
  CHECK(json.at("dropped") == 0);
}

TEST_CASE("bench of a server that nobody can reach says so") {
  const Ran ran = RunWith({"bench", "--server", "127.0.0.1:1", "--connect-max", "200ms"});
  CHECK(ran.status == 78);
  CHECK(ran.out.empty());
  CHECK(absl::StrContains(ran.err, "127.0.0.1:1"));
}

TEST_CASE("bench refuses what it cannot mean") {
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {"--mix", "Empty"}, {"--mix", "Love"}, {"--items", "walk:5"}, {"--items", "new"}}) {
    ScriptedServer server;
    const Ran ran = Bench(server, options);
    CAPTURE(options);
    CHECK(ran.status == 64);
    CHECK_FALSE(ran.err.empty());
  }
}

TEST_CASE("bench prints a line for each method and then what is said once") {
  ScriptedServer server;
  const Likes likes(server);
  const Ran ran = Bench(server, {"--mix", "WriteLikes", "--yes"}, "200ms", "table");
  CHECK(ran.status == 0);
  CHECK(absl::StartsWith(ran.out, "METHOD      CALLS"));
  CHECK(absl::StrContains(ran.out, "\nWriteLikes  "));
  CHECK(absl::StrContains(ran.out, "\nin_flight"));
}

}  // namespace
}  // namespace counter::cli
