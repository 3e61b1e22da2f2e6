// CallBatcher: joins calls that come while others are under way, so that many small ones cost Redis
// and this process as little as a few large ones.
//
// Use it for calls whose parts do not concern each other: parts of several calls run as one list,
// and each caller gets the results of its own. Nothing sleeps: while fewer than `under_way_max`
// runs are under way a call runs at once and alone; what comes meanwhile waits for the first of
// them to end and leaves together, in order.
//
// A caller's deadline is kept: a run has the earliest deadline of its calls, and a run that is
// under way ends at its own. How many may wait is bounded by those who call.
//
// Threads: any. A call that waited goes on on the thread that ended its run. Ownership: borrows
// nothing; it must outlive its calls.
#ifndef COUNTER_CACHE_REDIS_CALL_BATCHER_H_
#define COUNTER_CACHE_REDIS_CALL_BATCHER_H_

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"

namespace counter::redis {

// Parts of a run of several calls, at most; a call of more runs alone.
inline constexpr size_t kBatchPartsMax = 500;

template <class Part, class Result>
class CallBatcher {
 public:
  // Result i is of parts[i]; ends by the deadline.
  using Run =
      std::function<Task<std::vector<Result>>(std::vector<Part> parts, MonotonicTime deadline)>;

  explicit CallBatcher(Run run) : run_(std::move(run)) {}
  CallBatcher(const CallBatcher&) = delete;
  CallBatcher& operator=(const CallBatcher&) = delete;

  Task<std::vector<Result>> Call(std::vector<Part> parts, MonotonicTime deadline) {
    Waiting call{std::move(parts), deadline, {}, nullptr};
    Turn turn{*this, call};
    const bool runs = co_await turn;
    if (runs) {
      Task<std::vector<Result>> run = run_(std::move(call.parts), deadline);
      call.results = co_await std::move(run);
      Spawn(RunWaiting());
    }
    co_return std::move(call.results);
  }

 private:
  // A call in its caller's frame.
  struct Waiting {
    std::vector<Part> parts;
    MonotonicTime deadline;
    std::vector<Result> results;
    std::coroutine_handle<> caller;
  };

  // Goes on at once, with true, if the call is to run itself; else once its results are there.
  struct Turn {
    CallBatcher& batcher;
    Waiting& call;
    bool runs = false;

    bool await_ready() noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> caller) {
      call.caller = caller;
      // If it waits, another thread may already be going on with the caller: nothing here is to be
      // touched.
      if (!batcher.TakeTurn(call)) return true;
      runs = true;
      return false;
    }
    bool await_resume() noexcept { return runs; }
  };

  bool TakeTurn(Waiting& call) {
    MutexLock lock(mutex_);
    if (!std::exchange(is_under_way_, true)) return true;
    waiting_.push_back(&call);
    return false;
  }

  // The calls of the next run; none: nothing is under way any more.
  std::vector<Waiting*> TakeWaiting() {
    std::vector<Waiting*> calls;
    MutexLock lock(mutex_);
    size_t parts = 0;
    while (!waiting_.empty()) {
      parts += waiting_.front()->parts.size();
      if (!calls.empty() && parts > kBatchPartsMax) break;
      calls.push_back(waiting_.front());
      waiting_.pop_front();
    }
    is_under_way_ = !calls.empty();
    return calls;
  }

  Task<> RunWaiting() {
    for (std::vector<Waiting*> calls = TakeWaiting(); !calls.empty(); calls = TakeWaiting()) {
      std::vector<Part> parts;
      MonotonicTime deadline = MonotonicTime::max();
      for (const Waiting* call : calls) {
        deadline = std::min(deadline, call->deadline);
        parts.insert(parts.end(), call->parts.begin(), call->parts.end());
      }
      Task<std::vector<Result>> run = run_(std::move(parts), deadline);
      std::vector<Result> results = co_await std::move(run);
      auto from = results.begin();
      for (Waiting* call : calls) {
        const auto to = from + static_cast<std::ptrdiff_t>(call->parts.size());
        call->results.assign(std::make_move_iterator(from), std::make_move_iterator(to));
        from = to;
        call->caller.resume();
      }
    }
  }

  const Run run_;
  Mutex mutex_;
  bool is_under_way_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CALL_BATCHER_H_
