// Seed: where a test's randomness begins. Prints itself; RPC_TEST_SEED=<number> replays it.
//
// For tests only; test thread only.
#ifndef COUNTER_SERVER_RPC_TESTING_SEED_H_
#define COUNTER_SERVER_RPC_TESTING_SEED_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace counter::rpc::testing {

inline uint32_t Seed() {
  const char* wanted = std::getenv("RPC_TEST_SEED");
  const uint32_t seed = wanted != nullptr ? static_cast<uint32_t>(std::strtoul(wanted, nullptr, 10))
                                          : std::random_device()();
  std::printf("RPC_TEST_SEED=%u\n", seed);
  return seed;
}

}  // namespace counter::rpc::testing

#endif  // COUNTER_SERVER_RPC_TESTING_SEED_H_
