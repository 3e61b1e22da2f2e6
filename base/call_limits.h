// CallLimits: what bounds the work done for one call: the caller's deadline, and whether the caller
// is still there. Handed down from the edge to every wait.
#ifndef COUNTER_BASE_CALL_LIMITS_H_
#define COUNTER_BASE_CALL_LIMITS_H_

#include <atomic>
#include <memory>

#include "base/clock.h"

namespace counter {

// A flag that the edge sets when the caller has gone away. Copies share the flag; thread-safe.
// A default-made one is never set and costs nothing.
class Cancellation {
 public:
  Cancellation() = default;

  static Cancellation Make() {
    Cancellation made;
    made.flag_ = std::make_shared<std::atomic<bool>>(false);
    return made;
  }

  // Requires that this came from Make().
  void Cancel() { flag_->store(true, std::memory_order_release); }
  bool cancelled() const { return flag_ != nullptr && flag_->load(std::memory_order_acquire); }

 private:
  // Shared: the edge's call object may end before a store's queue has dropped its last copy.
  std::shared_ptr<std::atomic<bool>> flag_;
};

struct CallLimits {
  MonotonicTime deadline = MonotonicTime::max();
  Cancellation cancellation;

  bool expired(MonotonicTime now) const { return now >= deadline; }
};

}  // namespace counter

#endif  // COUNTER_BASE_CALL_LIMITS_H_
