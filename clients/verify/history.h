// History: what a load did to a service and what it was told, call by call; and FinalState: what
// the service holds in the end. checker.h says whether the two fit together.
//
// Each pair (user, item) has one owner, who writes it with one call at a time and without repeating
// any: so the calls on a pair have an order, and what may be true of it at any instant can be told
// from its log alone. All times are of one clock that never goes back.
//
// Values. Threads: any, as any value.
#ifndef COUNTER_CLIENTS_VERIFY_HISTORY_H_
#define COUNTER_CLIENTS_VERIFY_HISTORY_H_

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace counter::verify {

// Microseconds of a steady clock.
using Instant = int64_t;

// Now, by the clock of this process.
Instant SteadyNow();

struct Pair {
  int64_t user = 0;
  int64_t item = 0;

  friend auto operator<=>(const Pair&, const Pair&) = default;
};

enum class Act : uint8_t { kLike, kUnlike };

enum class Outcome : uint8_t {
  kChanged,     // LIKED or UNLIKED: this call made the transition.
  kUnchanged,   // ALREADY_LIKED or NOT_LIKED.
  kNotApplied,  // Refused, and marked as not applied.
  kUnknown,     // Failed in any other way: applied zero or one time, now or later.
};

struct WriteRecord {
  Pair pair;
  Act act = Act::kLike;
  Outcome outcome = Outcome::kUnknown;
  Instant begin = 0;
  Instant end = 0;
  int64_t count = -1;  // Of the reply; -1: there was none.
  int grpc_code = 0;   // Of a failure.
  int server = 0;      // Which of the load's clients made the call.
};

enum class Freshness : uint8_t { kCached, kStrong };

// What HasLiked answered.
struct PairReadRecord {
  Pair pair;
  bool liked = false;
  Freshness freshness = Freshness::kCached;
  Instant begin = 0;
  Instant end = 0;
  int server = 0;
};

// What GetCount or BatchGetCounts answered.
struct CountReadRecord {
  int64_t item = 0;
  int64_t count = 0;
  Freshness freshness = Freshness::kCached;
  Instant begin = 0;
  Instant end = 0;
  int server = 0;
};

// Something that was done to the service, and lets cached reads be older than usual.
struct Disturbance {
  Instant from = 0;
  Instant to = 0;
  std::string what;
};

struct History {
  std::vector<WriteRecord> writes;
  std::vector<PairReadRecord> pair_reads;
  std::vector<CountReadRecord> count_reads;
  std::vector<Disturbance> disturbances;
};

// Adds `from` to `into`.
void Append(History& into, History from);

// What the service holds when nobody writes any more and nothing is under way.
struct FinalState {
  std::set<Pair> likes;               // All of the items that the history names.
  std::map<int64_t, int64_t> counts;  // By item; one that is absent is 0.
  std::vector<std::string> drifts;    // What an audit says of counts and digests.
};

// The calls on a pair, a line each, in their order; times in seconds after `start`.
std::string LogOf(const History& history, const Pair& pair, Instant start);

}  // namespace counter::verify

#endif  // COUNTER_CLIENTS_VERIFY_HISTORY_H_
