// SlowHandler: a handler whose requests wait, as for a store, until the test answers them from its
// own thread.
//
// Threads: any. Ownership: must outlive the server's Stop().
#ifndef COUNTER_SERVER_HTTP_TESTING_SLOW_HANDLER_H_
#define COUNTER_SERVER_HTTP_TESTING_SLOW_HANDLER_H_

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/http/http.h"

namespace counter::http {

class SlowHandler {
 public:
  Handler AsHandler() {
    return [this](const Request& request) { return Answer(*this, request); };
  }

  // How many requests wait; waits until that is `count`.
  bool WaitForWaiting(size_t count) {
    const MonotonicTime end = Clock::System().MonotonicNow() + absl::Seconds(10);
    MutexLock lock(mutex_);
    while (waiting_.size() != count && Clock::System().MonotonicNow() < end) {
      changed_.WaitUntil(mutex_, end);
    }
    return waiting_.size() == count;
  }
  // Answers the request that has waited longest. Requires that one waits.
  void AnswerOne(const std::string& body) {
    std::optional<Waiting> first;
    {
      MutexLock lock(mutex_);
      first = std::move(waiting_.front());
      waiting_.pop_front();
    }
    first->resume(body);
  }
  bool FirstIsCancelled() {
    MutexLock lock(mutex_);
    return waiting_.front().cancellation.cancelled();
  }

 private:
  struct Waiting {
    Resumer<std::string> resume;
    Cancellation cancellation;
  };

  static Task<Response> Answer(SlowHandler& handler, const Request& request) {
    auto wait = [&](Resumer<std::string> resume) {
      MutexLock lock(handler.mutex_);
      handler.waiting_.push_back({resume, request.cancellation});
      handler.changed_.NotifyAll();
    };
    CallbackAwaitable<std::string, decltype(wait)> answer(wait);
    std::string body = co_await answer;
    co_return Response{.body = std::move(body)};
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::http

#endif  // COUNTER_SERVER_HTTP_TESTING_SLOW_HANDLER_H_
