// RunWorkers: n threads that start together and are joined.
//
// Workers must not use assertions of the test framework (it is for one thread); they write down
// what they saw, each in its own place, and the test thread looks afterwards.
#ifndef COUNTER_TESTS_SUPPORT_WORKERS_H_
#define COUNTER_TESTS_SUPPORT_WORKERS_H_

#include <functional>

namespace counter::testing {

// Runs work(0) ... work(workers - 1), each on a thread of its own, lets all of them go at the same
// moment and returns when all have ended.
void RunWorkers(int workers, const std::function<void(int worker)>& work);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_WORKERS_H_
