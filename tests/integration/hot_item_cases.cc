#include "tests/integration/hot_item_cases.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/http_client.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;

std::vector<std::shared_ptr<grpc::Channel>> ChannelsTo(const Servers& servers) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (const CounterServer* server : servers) channels.push_back(ChannelTo(*server));
  return channels;
}

// Reads a count by every API, again and again, on a thread of its own.
class CountWatch {
 public:
  CountWatch(const CounterServer& server, const client::Item& item)
      : client_(ConnectTo(server)),
        rest_(server.http_port()),
        item_(item),
        thread_([this] { Watch(); }) {}
  ~CountWatch() { done_ = true; }

  void Stop() {
    done_ = true;
    thread_.join();
  }
  // After Stop().
  int readings() const { return readings_; }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void Saw(const char* api, int64_t count) {
    ++readings_;
    if ((count < 0 || count > 1) && faults_.size() < 5)
      faults_.push_back(absl::StrCat(api, " said ", count));
  }
  void Watch() {
    const std::string by_rest =
        absl::StrCat("/v1/count?item_id=", item_.id, "&item_type=", item_.type);
    while (!done_) {
      for (const auto consistency : {client::Consistency::kStrong, client::Consistency::kCached}) {
        const auto count = client_.Count(item_, {.consistency = consistency});
        if (count.ok()) Saw("GetCount", count->count.count);
        const auto counts = client_.Counts({item_}, {.consistency = consistency});
        if (counts.ok()) Saw("BatchGetCounts", counts->counts[0].count);
      }
      const HttpClient::Answer answer = rest_.Get(by_rest);
      if (answer.status != 200) continue;
      Saw("REST", absl::StrContains(answer.body, "\"count\":0,")   ? 0
                  : absl::StrContains(answer.body, "\"count\":1,") ? 1
                                                                   : -1);
    }
  }

  const Client client_;
  HttpClient rest_;
  const client::Item item_;
  std::atomic<bool> done_ = false;
  int readings_ = 0;
  std::vector<std::string> faults_;
  std::jthread thread_;
};

}  // namespace

void LikeByManyUsersAtOnce(const Servers& servers, const client::Item& item) {
  constexpr int64_t kUsers = 500;
  std::vector<v1::LikeRequest> requests;
  for (int64_t user = 1; user <= kUsers; ++user) requests.push_back(LikeRequestOf(user, item));
  const auto ended = CallAtOnce(ChannelsTo(servers), &Stub::PrepareAsyncLike, requests);
  for (const auto& call : ended) {
    INFO(call.status.error_message());
    REQUIRE(call.status.ok());
    REQUIRE(call.response.status() == v1::LIKE_STATUS_LIKED);
    REQUIRE(call.response.count() >= 1);
    REQUIRE(call.response.count() <= kUsers);
  }
  CHECK(StrongCount(ConnectTo(*servers[0]), item) == kUsers);
}

void LikeEquallyAtOnce(const Servers& servers, const client::Item& item) {
  const std::vector<v1::LikeRequest> requests(500, LikeRequestOf(7, item));
  const auto ended = CallAtOnce(ChannelsTo(servers), &Stub::PrepareAsyncLike, requests);
  int made = 0;
  for (const auto& call : ended) {
    INFO(call.status.error_message());
    REQUIRE(call.status.ok());
    REQUIRE(call.response.count() == 1);
    if (call.response.status() == v1::LIKE_STATUS_LIKED) ++made;
  }
  CHECK(made == 1);
  CHECK(StrongCount(ConnectTo(*servers[0]), item) == 1);
}

void UnlikeEquallyAtOnce(const Servers& servers, const client::Item& item) {
  const Client client = ConnectTo(*servers[0]);
  const auto channels = ChannelsTo(servers);
  std::vector<std::unique_ptr<CountWatch>> watches;
  for (const CounterServer* server : servers)
    watches.push_back(std::make_unique<CountWatch>(*server, item));
  const int rounds = Sized(20, 500);
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(client.Like(1, item).value().changed);
    const std::vector<v1::UnlikeRequest> requests(64, UnlikeRequestOf(1, item));
    const auto ended = CallAtOnce(channels, &Stub::PrepareAsyncUnlike, requests);
    int made = 0;
    for (const auto& call : ended) {
      INFO(call.status.error_message());
      REQUIRE(call.status.ok());
      REQUIRE(call.response.count() == 0);
      if (call.response.status() == v1::UNLIKE_STATUS_UNLIKED) ++made;
    }
    REQUIRE(made == 1);
  }
  for (const auto& watch : watches) {
    watch->Stop();
    CHECK(watch->readings() > 0);
    for (const std::string& fault : watch->faults()) FAIL_CHECK(fault);
  }
}

}  // namespace counter::testing
