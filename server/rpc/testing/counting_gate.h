// CountingGate: a gate that counts, and that a test may let refuse.
//
// For tests only. Threads: as CallGate; `refuse` is set before Server::Start().
#ifndef COUNTER_SERVER_RPC_TESTING_COUNTING_GATE_H_
#define COUNTER_SERVER_RPC_TESTING_COUNTING_GATE_H_

#include <any>
#include <atomic>
#include <functional>
#include <optional>

#include "server/rpc/call_gate.h"

namespace counter::rpc::testing {

class CountingGate final : public CallGate {
 public:
  std::function<std::optional<grpc::Status>(Call&)> refuse;

  std::optional<grpc::Status> Admit(Call& call) override {
    ++asked_;
    if (call.limits().expired(call.arrived())) ++expired_;
    call.gate_data() = std::make_any<int>(1);
    return refuse ? refuse(call) : std::nullopt;
  }

  void Ended(Call& call, const grpc::Status& status) override {
    // Counts in the call itself, so that a second end of one call cannot hide behind a missing one.
    int& ends_due = std::any_cast<int&>(call.gate_data());
    if (--ends_due != 0) ++ended_twice_;
    ++ended_;
    if (!status.ok()) ++failed_;
    call.AddTrailingMetadata("x-end", "told");
  }

  int asked() const { return asked_; }
  int expired() const { return expired_; }
  int ended() const { return ended_; }
  int ended_twice() const { return ended_twice_; }
  int failed() const { return failed_; }

 private:
  std::atomic<int> asked_ = 0;
  std::atomic<int> expired_ = 0;
  std::atomic<int> ended_ = 0;
  std::atomic<int> ended_twice_ = 0;
  std::atomic<int> failed_ = 0;
};

}  // namespace counter::rpc::testing

#endif  // COUNTER_SERVER_RPC_TESTING_COUNTING_GATE_H_
