#include "tests/support/environment.h"

#include <cstdio>
#include <cstdlib>

namespace counter::testing {

std::string FromEnvironment(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) {
    std::fprintf(stderr, "the environment of this test has no %s\n", variable);
    std::abort();
  }
  return value;
}

}  // namespace counter::testing
