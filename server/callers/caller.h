// Caller: who makes a call, and what that caller may do beyond being let in.
//
// A value of a table (caller_table.h); calls share it. Threads: any.
#ifndef COUNTER_SERVER_CALLERS_CALLER_H_
#define COUNTER_SERVER_CALLERS_CALLER_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace counter {

// Ids of users from the first to the last, both included. Without bounds it holds every number,
// those that no user can have too: that they are wrong is for others to say.
struct UserRange {
  int64_t first = std::numeric_limits<int64_t>::min();
  int64_t last = std::numeric_limits<int64_t>::max();

  bool Holds(int64_t user) const { return first <= user && user <= last; }
  bool IsAll() const { return *this == UserRange(); }
  friend bool operator==(const UserRange&, const UserRange&) = default;
};

// What one caller has under way; it outlives the tables that name the caller.
struct CallerLoad {
  std::atomic<int> calls_in_flight = 0;
  std::atomic<int> watches = 0;  // That stand.
};

// How those are called, all together, who do not say who they are.
inline constexpr char kAnyoneName[] = "anyone";

struct Caller {
  std::string name;                  // Empty: nobody said who.
  UserRange users;                   // For whom the caller may act.
  int calls_max = 0;                 // In flight at once; 0: as many as the server takes.
  int watches_max = 0;               // At once; 0: as many as CALLER_WATCHES_MAX says.
  std::shared_ptr<CallerLoad> load;  // Shared by all tables; null: nobody counts.
};
using CallerRef = std::shared_ptr<const Caller>;

// Of whom nothing is known, and nothing needs to be: no limit of its own.
inline const CallerRef& UnknownCaller() {
  static const CallerRef* const unknown = new CallerRef(std::make_shared<Caller>());
  return *unknown;
}

}  // namespace counter

#endif  // COUNTER_SERVER_CALLERS_CALLER_H_
