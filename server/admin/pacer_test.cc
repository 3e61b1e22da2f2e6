#include "server/admin/pacer.h"

#include <catch2/catch.hpp>

#include "absl/time/time.h"
#include "base/clock.h"

namespace counter {
namespace {

TEST_CASE("work waits until what was done before is paid for, and no longer") {
  ManualClock clock;
  Pacer pacer(clock, 100);
  CHECK(pacer.Wait() == absl::ZeroDuration());
  pacer.Done(250);
  CHECK(pacer.Wait() == absl::Milliseconds(2500));
  clock.Advance(absl::Milliseconds(2499));
  CHECK(pacer.Wait() == absl::Milliseconds(1));
  clock.Advance(absl::Milliseconds(1));
  CHECK(pacer.Wait() == absl::ZeroDuration());
}

TEST_CASE("time in which nothing was done is not saved up") {
  ManualClock clock;
  Pacer pacer(clock, 100);
  clock.Advance(absl::Hours(1));
  pacer.Done(100);
  CHECK(pacer.Wait() == absl::Seconds(1));
}

TEST_CASE("pieces that were let in together are paid for one after the other") {
  ManualClock clock;
  Pacer pacer(clock, 10);
  pacer.Done(10);
  pacer.Done(10);
  CHECK(pacer.Wait() == absl::Seconds(2));
}

TEST_CASE("work of no size costs nothing") {
  ManualClock clock;
  Pacer pacer(clock, 1);
  pacer.Done(0);
  CHECK(pacer.Wait() == absl::ZeroDuration());
}

}  // namespace
}  // namespace counter
