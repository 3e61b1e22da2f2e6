#include "server/upkeep/failpoint.h"

#include <catch2/catch.hpp>
#include <string>

namespace counter {
namespace {

TEST_CASE("A process that nobody asked to fail has no failpoint") {
  CHECK(ParseFailpoint("").value() == 0);
}

TEST_CASE("A failpoint names the batch at which the process ends") {
  CHECK(ParseFailpoint("exit-after-commit").value() == 1);
  CHECK(ParseFailpoint("exit-after-commit:25").value() == 25);
}

TEST_CASE("A failpoint that there is not is refused") {
  for (const char* text : {"exit", "exit-after-commit:", "exit-after-commit:0",
                           "exit-after-commit:-1", "exit-after-commit25", "exit-after-commit:x"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseFailpoint(text).ok());
  }
}

}  // namespace
}  // namespace counter
