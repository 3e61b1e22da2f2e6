// counterctl verify on servers of the test's own: an honest one, and some that are not.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
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

// A service of likes in the test's memory, which lies where it is told to.
class Service {
 public:
  enum class Lie { kNone, kForgetsLikes, kLikesTwice, kCountsOneMore, kReadsOld, kInterrupts };

  explicit Service(ScriptedServer& server, Lie lie = Lie::kNone) : lie_(lie) {
    server.on_like = [this](grpc::ServerContext&, const v1::LikeRequest& request,
                            v1::LikeResponse& response) {
      const std::lock_guard lock(mutex_);
      if (Stumbles()) {
        if (calls_ % 2 == 0) Apply(request.user_id(), request.item(), true);
        return MakeStatus(grpc::UNAVAILABLE, "gone", "STORE_UNAVAILABLE");
      }
      response.set_status(Apply(request.user_id(), request.item(), true)
                              ? v1::LIKE_STATUS_LIKED
                              : v1::LIKE_STATUS_ALREADY_LIKED);
      response.set_count(CountOf(request.item()));
      if (lie_ == Lie::kInterrupts && calls_ == 200) ::kill(::getpid(), SIGINT);
      return grpc::Status::OK;
    };
    server.on_unlike = [this](grpc::ServerContext&, const v1::UnlikeRequest& request,
                              v1::UnlikeResponse& response) {
      const std::lock_guard lock(mutex_);
      response.set_status(Apply(request.user_id(), request.item(), false)
                              ? v1::UNLIKE_STATUS_UNLIKED
                              : v1::UNLIKE_STATUS_NOT_LIKED);
      response.set_count(CountOf(request.item()));
      return grpc::Status::OK;
    };
    server.on_write_likes = [this](grpc::ServerContext&, const v1::WriteLikesRequest& request,
                                   v1::WriteLikesResponse& response) {
      const std::lock_guard lock(mutex_);
      for (const v1::Mutation& mutation : request.mutations()) {
        const bool like = mutation.action() == v1::ACTION_LIKE;
        const bool changed = Apply(mutation.user_id(), mutation.item(), like);
        v1::MutationResult& result = *response.add_results();
        if (like)
          result.set_outcome(changed ? v1::OUTCOME_LIKED : v1::OUTCOME_ALREADY_LIKED);
        else
          result.set_outcome(changed ? v1::OUTCOME_UNLIKED : v1::OUTCOME_NOT_LIKED);
        result.set_count(CountOf(mutation.item()));
      }
      return grpc::Status::OK;
    };
    server.on_get_count = [this](grpc::ServerContext&, const v1::GetCountRequest& request,
                                 v1::GetCountResponse& response) {
      const std::lock_guard lock(mutex_);
      response.set_count(CountOf(request.item()));
      return grpc::Status::OK;
    };
    server.on_batch_get_counts = [this](grpc::ServerContext&,
                                        const v1::BatchGetCountsRequest& request,
                                        v1::BatchGetCountsResponse& response) {
      const std::lock_guard lock(mutex_);
      for (const v1::Item& item : request.items()) {
        v1::ItemCount& count = *response.add_counts();
        *count.mutable_item() = item;
        count.set_count(CountOf(item) + (lie_ == Lie::kCountsOneMore ? 1 : 0));
        if (lie_ == Lie::kReadsOld && request.consistency() != v1::CONSISTENCY_STRONG)
          count.set_count(first_seen_.emplace(item.item_id(), count.count()).first->second);
      }
      return grpc::Status::OK;
    };
    server.on_has_liked = [this](grpc::ServerContext&, const v1::HasLikedRequest& request,
                                 v1::HasLikedResponse& response) {
      const std::lock_guard lock(mutex_);
      for (const v1::Item& item : request.items())
        response.add_liked(likes_.count({request.user_id(), item.item_id()}) > 0);
      return grpc::Status::OK;
    };
  }

  size_t held() const { return likes_.size(); }
  bool all_own() const { return all_own_; }
  int stumbles_one_in = 0;  // So many likes fail, half of them after they were applied.

 private:
  bool Stumbles() {
    ++calls_;
    return stumbles_one_in > 0 && calls_ % stumbles_one_in == 0;
  }
  bool Apply(int64_t user, const v1::Item& item, bool like) {
    all_own_ = all_own_ && user >= kOwnIdsFirst && item.item_id() >= kOwnIdsFirst;
    const std::pair<int64_t, int64_t> pair = {user, item.item_id()};
    ++applied_;
    if (!like) return likes_.erase(pair) > 0;
    const bool changed = likes_.insert(pair).second;
    if (lie_ == Lie::kForgetsLikes && changed && applied_ % 50 == 0) likes_.erase(pair);
    return changed || (lie_ == Lie::kLikesTwice && applied_ % 50 == 0);
  }
  int64_t CountOf(const v1::Item& item) const {
    int64_t count = 0;
    for (const auto& [user, liked] : likes_) count += liked == item.item_id() ? 1 : 0;
    return count;
  }

  const Lie lie_;
  std::mutex mutex_;  // Guards the others while calls are made.
  std::set<std::pair<int64_t, int64_t>> likes_;
  std::map<int64_t, int64_t> first_seen_;
  int calls_ = 0;
  int applied_ = 0;
  bool all_own_ = true;
};

Ran Verify(const ScriptedServer& server, std::vector<std::string> options = {},
           const std::string& duration = "500ms", const std::string& format = "json") {
  options.insert(options.begin(), {"verify", "--server", server.target(), "-o", format, "--yes",
                                   "--duration", duration, "--pause", "1ms"});
  return RunWith(options);
}

TEST_CASE("verify without --yes refuses, says where it would write, and makes no call") {
  ScriptedServer server;
  const Ran ran = RunWith({"verify", "--server", server.target()});
  CHECK(ran.status == 64);
  CHECK(absl::StrContains(ran.err, "4611686018427387904"));
  CHECK(absl::StrContains(ran.err, "--yes"));
  CHECK(server.calls() == 0);
}

TEST_CASE("verify of an honest server finds nothing and takes its likes back") {
  ScriptedServer server;
  const Service service(server);
  const Ran ran = Verify(server);
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  const boost::json::value report = boost::json::parse(ran.out);
  CHECK(report.at("findings") == 0);
  CHECK(report.at("verdict") == "the contract held");
  CHECK(report.at("made_a_change").as_int64() > 50);
  CHECK(report.at("counts_read").as_int64() > 10);
  CHECK(report.at("found").as_array().empty());
  CHECK(service.held() == 0);
  CHECK(service.all_own());
}

TEST_CASE("verify counts failures and takes none for a breach") {
  ScriptedServer server;
  Service service(server);
  service.stumbles_one_in = 5;
  const Ran ran = Verify(server, {"--deadline", "200ms"});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.status == 0);
  const boost::json::value report = boost::json::parse(ran.out);
  CHECK(report.at("outcome_unknown").as_int64() > 0);
  CHECK(report.at("error_UNAVAILABLE").as_int64() > 0);
}

TEST_CASE("verify names each kind of breach, shows the log of the pair, and exits with 1") {
  using Lie = Service::Lie;
  for (const auto& [lie, kind] : std::map<Lie, std::string>{{Lie::kForgetsLikes, "lost"},
                                                            {Lie::kLikesTwice, "duplicated"},
                                                            {Lie::kCountsOneMore, "untrue"},
                                                            {Lie::kReadsOld, "untrue"}}) {
    ScriptedServer server;
    const Service service(server, lie);
    const Ran ran = Verify(server, {"--cached-bound", "50ms"});
    CAPTURE(kind, ran.err);
    CHECK(ran.status == 1);
    const boost::json::value report = boost::json::parse(ran.out);
    CHECK(report.at("verdict") == "the contract was broken");
    bool is_named = false;
    for (const boost::json::value& found : report.at("found").as_array()) {
      if (found.at("kind") != boost::json::string_view(kind)) continue;
      is_named = true;
      CHECK(found.at("item_id").as_int64() >= kOwnIdsFirst);
      CHECK_FALSE(found.at("log").as_array().empty());
      break;
    }
    CHECK(is_named);
  }
}

TEST_CASE("A count that is not what its likes add up to is drift") {
  ScriptedServer server;
  const Service service(server, Service::Lie::kCountsOneMore);
  CHECK(absl::StrContains(Verify(server).out, "\"drift\""));
}

TEST_CASE("verify prints a table that people can read") {
  ScriptedServer server;
  const Service service(server, Service::Lie::kForgetsLikes);
  const Ran ran = Verify(server, {}, "500ms", "table");
  CHECK(ran.status == 1);
  CHECK(absl::StrContains(ran.out, "the contract was broken"));
  CHECK(absl::StrContains(ran.out, "\nlost: user "));
  CHECK(absl::StrContains(ran.out, "Unlike: NOT_LIKED"));
}

TEST_CASE("verify that is interrupted still judges, and takes its likes back") {
  ScriptedServer server;
  const Service service(server, Service::Lie::kInterrupts);
  const Ran ran = Verify(server, {}, "60s");
  CHECK(ran.status == 130);
  CHECK(absl::StrContains(ran.out, "the contract held"));
  CHECK(service.held() == 0);
}

TEST_CASE("verify of a server that nobody can reach, or of a type that there is not, says so") {
  const Ran gone = RunWith({"verify", "--yes", "--server", "127.0.0.1:1", "--deadline", "300ms"});
  CHECK((gone.status == 78 || gone.status == 68));
  CHECK(gone.out.empty());
  ScriptedServer server;
  server.on_get_count = [](grpc::ServerContext&, const v1::GetCountRequest&,
                           v1::GetCountResponse&) {
    return MakeStatus(grpc::INVALID_ARGUMENT, "no such type", "INVALID_REQUEST");
  };
  CHECK(Verify(server).status == 67);
}

}  // namespace
}  // namespace counter::cli
