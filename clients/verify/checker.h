// Check: whether what a service answered, and what it holds in the end, can be true together.
//
// Use it after any load whose pairs have one owner each (history.h): the torture harness and
// counterctl verify do. It finds
//   lost        a like or unlike that was acknowledged and is not there
//   unexpected  a like that is there and that no call can have made
//   duplicated  two calls that were each told that they made the same transition
//   drift       a count or digest that is not what the likes add up to
//   untrue      an answer that was true at no instant within its bound
// and never what the contract allows: an unknown outcome is an outcome.
//
// Pure: no clock, no I/O. Threads: any.
#ifndef COUNTER_CLIENTS_VERIFY_CHECKER_H_
#define COUNTER_CLIENTS_VERIFY_CHECKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/verify/history.h"

namespace counter::verify {

enum class FindingKind : uint8_t { kLost, kUnexpected, kDuplicated, kDrift, kUntrue };
// "lost", "unexpected" and so on.
const char* Name(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kLost;
  Pair pair;  // user 0: of the item as a whole.
  Instant at = 0;
  std::string what;
};

// How old a cached read may be.
struct Bounds {
  // While nothing is disturbed.
  absl::Duration cached = absl::Seconds(1);
  // How long after a disturbance cached reads may be as old as its beginning.
  absl::Duration heal = absl::Seconds(5);
  // Whatever happens.
  absl::Duration longest = absl::InfiniteDuration();
};

// All findings, the gravest kind first, then by time. Absent `final_state`: what the service holds
// is not looked at.
std::vector<Finding> Check(const History& history, const std::optional<FinalState>& final_state,
                           const Bounds& bounds);

}  // namespace counter::verify

#endif  // COUNTER_CLIENTS_VERIFY_CHECKER_H_
