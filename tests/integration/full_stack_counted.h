// What both servers of a FullStack have counted so far about their caches, to be compared with
// itself a while later.
//
// Functions fail the case if a server does not say: call them on the test's thread.
#ifndef COUNTER_TESTS_INTEGRATION_FULL_STACK_COUNTED_H_
#define COUNTER_TESTS_INTEGRATION_FULL_STACK_COUNTED_H_

#include "absl/time/time.h"
#include "tests/integration/full_stack.h"

namespace counter::testing {

struct Counted {
  double hits = 0;  // Of counts that the cache was asked for.
  double misses = 0;
  double calls = 0;
  double timeouts = 0;       // Of requests to Redis: each makes a call wait for its 20 ms.
  double map_refreshes = 0;  // Of the server that asked more often.
  double redirects = 0;
  double given_up = 0;  // Redirections that led nowhere.
};
Counted CountedBy(FullStack& stack);

// Of what was counted in between; 0 if there was nothing.
double HitRatio(const Counted& from, const Counted& to);
double TimeoutsACall(const Counted& from, const Counted& to);

// Whether the load that runs comes to find counts in the cache as before, within 10 s.
bool HitsAreBack(FullStack& stack, double usual_ratio);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_FULL_STACK_COUNTED_H_
