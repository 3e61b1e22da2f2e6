// OpenLoop: likes at a fixed rate, whatever the server does, and what became of each call.
//
// Each like is of its own pair; each call goes through one of `connections` and is never repeated.
// A call counts from the moment at which it is sent; who sends late says so in `late`.
//
// Threads: the test's own; it runs threads of its own.
#ifndef COUNTER_TESTS_TORTURE_OPEN_LOOP_H_
#define COUNTER_TESTS_TORTURE_OPEN_LOOP_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace counter::testing {

struct OpenLoopOptions {
  std::string target;
  double rate = 1000;  // Calls a second; fewer if this machine cannot make as many.
  absl::Duration duration = absl::Seconds(5);
  absl::Duration deadline = absl::Seconds(2);  // Of each call.
  int likes_per_call = 1;                      // More than one: WriteLikes.
  int connections = 20;
  int64_t users_first = 1;
  int64_t items = 1000;
  // Every so many calls there is a probe beside them: a like that is no valid one. It is answered
  // before anything is done for it, so it tells how long this machine takes for nothing. 0: none.
  int calls_per_probe = 0;
  // Calls under way; further ones are not made, and counted as dropped.
  int in_flight_max = 50'000;
};

struct OpenLoopResult {
  int64_t sent = 0;
  int64_t dropped = 0;
  int64_t ok = 0;                            // All likes of the call were done.
  std::map<std::string, int64_t> errors;     // By code and reason: "8 OVERLOADED".
  std::vector<absl::Duration> refused_took;  // Of each call that was OVERLOADED, in order of size.
  int64_t refused_without_hint = 0;          // Of them.
  std::vector<absl::Duration> probes_took;   // In order of size; no part of what was sent.
  absl::Duration late;                       // The most that a call was sent later than it should.
  absl::Duration ok_slowest;

  // Calls that ended with that code.
  int64_t EndedWith(int code) const;
  // How long so many of a hundred refusals took at most; zero if there was none. The same of
  // probes.
  absl::Duration RefusedWithin(double percent) const { return Within(refused_took, percent); }
  absl::Duration ProbedWithin(double percent) const { return Within(probes_took, percent); }
  std::string ToString() const;

 private:
  static absl::Duration Within(const std::vector<absl::Duration>& took, double percent);
};

OpenLoopResult RunOpenLoop(const OpenLoopOptions& options);

// Likes, so many at a time, for so long; how many a second went well.
double ClosedLoopRate(const OpenLoopOptions& options, int in_flight, absl::Duration duration);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_OPEN_LOOP_H_
