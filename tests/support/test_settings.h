// What the environment says about how tests run: the seed of their randomness and their size.
//
// COUNTER_TEST_REDIS=cluster runs the cases that need a Redis on a Redis Cluster instead.
// COUNTER_TEST_SEED=N replays a run; COUNTER_TEST_LONG=1 asks for the sizes that a case states
// instead of the short ones (at most 10 s a case). Thread-safe.
#ifndef COUNTER_TESTS_SUPPORT_TEST_SETTINGS_H_
#define COUNTER_TESTS_SUPPORT_TEST_SETTINGS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace counter::testing {

// The seed of this run: COUNTER_TEST_SEED, or a random one. Printed, with how to replay it, when it
// is first asked for. Derive one generator a thread from it: std::mt19937_64(TestSeed() + thread).
uint64_t TestSeed();

// Whether the long form was asked for.
bool LongForm();

// The one or the other: Sized(20, 500) rounds.
template <class T>
T Sized(T short_form, T long_form) {
  return LongForm() ? long_form : short_form;
}

// Whether the Redis of the cases is to be a Redis Cluster.
bool OnRedisCluster();

// How much longer than usual a wait may take: 1, or more under a sanitizer. For deadlines of tests
// that are not themselves the promise under test.
int Slowness();

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_TEST_SETTINGS_H_
