// A watch of counts on a real server, as a test sees it.
//
// Threads: the test's; Cancel() from any. Ownership: owns its call; the watch is cancelled and
// ended with the object.
#ifndef COUNTER_TESTS_INTEGRATION_WATCH_CLIENT_H_
#define COUNTER_TESTS_INTEGRATION_WATCH_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "counter/v1/counter.grpc.pb.h"

namespace counter::testing {

class WatchClient {
 public:
  // Watches posts. Without a deadline the watch stands; with one a test ends that is never told.
  WatchClient(const std::shared_ptr<grpc::Channel>& channel, const std::vector<int64_t>& posts,
              const std::vector<std::string>& tokens = {},
              std::optional<absl::Duration> deadline = absl::Minutes(1))
      : stub_(v1::CounterService::NewStub(channel)) {
    v1::WatchCountsRequest request;
    for (const int64_t post : posts) {
      v1::Item& item = *request.add_items();
      item.set_item_type("post");
      item.set_item_id(post);
    }
    for (const std::string& token : tokens) request.add_consistency_tokens(token);
    if (deadline.has_value()) context_.set_deadline(absl::ToChronoTime(absl::Now() + *deadline));
    reader_ = stub_->WatchCounts(&context_, request);
  }
  ~WatchClient() {
    if (!status_.has_value()) {
      Cancel();
      End();
    }
  }
  WatchClient(const WatchClient&) = delete;
  WatchClient& operator=(const WatchClient&) = delete;

  // Waits for the next message, and takes note of its counts; false when the watch has ended.
  bool Next() {
    if (!reader_->Read(&message_)) return false;
    for (const v1::ItemCount& count : message_.counts()) {
      const int64_t post = count.item().item_id();
      counts_[post] = count.count();
      tokens_[post] = count.consistency_token();
    }
    return true;
  }
  // Reads on until the count is known to be that; false when the watch ends before.
  bool Until(int64_t post, int64_t count) {
    while (counts_.count(post) == 0 || counts_[post] != count) {
      if (!Next()) return false;
    }
    return true;
  }

  void Cancel() { context_.TryCancel(); }
  // Reads what is left, and says how the watch ended.
  grpc::Status End() {
    if (!status_.has_value()) {
      while (Next()) {
      }
      status_ = reader_->Finish();
    }
    return *status_;
  }

  // The ids that the server gave the watch, before all messages and after them; empty if it gave
  // none. Require that it has ended.
  std::string FirstRequestId() const { return RequestIdIn(context_.GetServerInitialMetadata()); }
  std::string LastRequestId() const { return RequestIdIn(context_.GetServerTrailingMetadata()); }

  const v1::WatchCountsResponse& message() const { return message_; }
  std::map<int64_t, int64_t>& counts() { return counts_; }
  std::vector<std::string> tokens() const {
    std::vector<std::string> tokens;
    for (const auto& [post, token] : tokens_) tokens.push_back(token);
    return tokens;
  }

 private:
  static std::string RequestIdIn(
      const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    const auto found = metadata.find("x-request-id");
    if (found == metadata.end()) return "";
    return std::string(found->second.data(), found->second.size());
  }

  const std::unique_ptr<v1::CounterService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchCountsResponse>> reader_;
  v1::WatchCountsResponse message_;
  std::map<int64_t, int64_t> counts_;
  std::map<int64_t, std::string> tokens_;
  std::optional<grpc::Status> status_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_WATCH_CLIENT_H_
