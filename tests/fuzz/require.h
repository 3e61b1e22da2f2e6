// Require: what must hold whatever the input. libFuzzer keeps an input for which it does not.
//
// For fuzz targets only: it ends the process. Threads: any.
#ifndef COUNTER_TESTS_FUZZ_REQUIRE_H_
#define COUNTER_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace counter::fuzz {

inline void Require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: what must hold does not\n", file, line);
  std::abort();
}

}  // namespace counter::fuzz

#endif  // COUNTER_TESTS_FUZZ_REQUIRE_H_
