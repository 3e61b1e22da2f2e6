#include "tests/support/test_settings.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace counter::testing {
namespace {

uint64_t ChooseSeed() {
  uint64_t seed = 0;
  const char* given = std::getenv("COUNTER_TEST_SEED");
  if (given == nullptr || !absl::SimpleAtoi(given, &seed)) {
    std::random_device device;
    seed = device();
  }
  std::printf("replay with COUNTER_TEST_SEED=%" PRIu64 "\n", seed);
  std::fflush(stdout);
  return seed;
}

}  // namespace

uint64_t TestSeed() {
  static const uint64_t seed = ChooseSeed();
  return seed;
}

bool LongForm() {
  const char* value = std::getenv("COUNTER_TEST_LONG");
  return value != nullptr && absl::string_view(value) == "1";
}

bool OnRedisCluster() {
  const char* redis = std::getenv("COUNTER_TEST_REDIS");
  return redis != nullptr && absl::string_view(redis) == "cluster";
}

int Slowness() {
#if defined(__SANITIZE_THREAD__)
  return 10;
#elif defined(__SANITIZE_ADDRESS__)
  return 4;
#else
  return 1;
#endif
}

}  // namespace counter::testing
