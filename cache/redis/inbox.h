// Inbox: requests on their way from any thread to the loop.
//
// Use it inside Connection. Whoever puts the first request in wakes the loop; all that has come by
// then is taken at once.
//
// Threads: any. Ownership: of the requests, until they are taken.
#ifndef COUNTER_CACHE_REDIS_INBOX_H_
#define COUNTER_CACHE_REDIS_INBOX_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/redis/channel.h"

namespace counter::redis {

class Inbox {
 public:
  enum class Put : uint8_t {
    kWakeTheLoop,
    kLoopIsAwake,  // It was woken and has not come yet.
    kClosed,       // The request was left where it was.
  };

  Put Add(Request& request) {
    MutexLock lock(mutex_);
    if (is_closed_) return Put::kClosed;
    requests_.push_back(std::move(request));
    return std::exchange(loop_is_awake_, true) ? Put::kLoopIsAwake : Put::kWakeTheLoop;
  }

  std::vector<Request> TakeAll() {
    std::vector<Request> taken;
    MutexLock lock(mutex_);
    loop_is_awake_ = false;
    taken.swap(requests_);
    return taken;
  }

  // Takes nothing from now on; `late` gets what nobody will take any more. Requires late.empty().
  void Close(std::vector<Request>& late) {
    MutexLock lock(mutex_);
    is_closed_ = true;
    late.swap(requests_);
  }

 private:
  Mutex mutex_;
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
  bool loop_is_awake_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_INBOX_H_
