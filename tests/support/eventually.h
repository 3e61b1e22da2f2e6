// Eventually: waits for a condition by asking again and again, with a deadline.
//
// Use it where a test waits for another process or thread and has nothing to block on. It is no
// synchronisation between threads of one program: use absl::Notification for that.
#ifndef COUNTER_TESTS_SUPPORT_EVENTUALLY_H_
#define COUNTER_TESTS_SUPPORT_EVENTUALLY_H_

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"

namespace counter::testing {

// Whether `predicate` came true within `deadline` from now. Asks at once, then every 1 to 20 ms,
// and one last time at the deadline. The predicate is called on this thread.
[[nodiscard]] bool Eventually(absl::Duration deadline, absl::FunctionRef<bool()> predicate);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_EVENTUALLY_H_
