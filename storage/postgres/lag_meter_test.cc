#include "storage/postgres/lag_meter.h"

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

MonotonicTime At(int64_t milliseconds) {
  return MonotonicTime() + absl::Milliseconds(milliseconds);
}

TEST_CASE("before the primary was asked no replica has a known age") {
  LagMeter meter;
  CHECK_FALSE(meter.FreshAt(100).has_value());
}

TEST_CASE("a replica is as fresh as the last question whose answer it has replayed") {
  LagMeter meter;
  meter.PrimaryAt(100, At(0));
  meter.PrimaryAt(200, At(10));
  meter.PrimaryAt(300, At(20));
  CHECK_FALSE(meter.FreshAt(99).has_value());
  CHECK(meter.FreshAt(100) == At(0));
  CHECK(meter.FreshAt(199) == At(0));
  CHECK(meter.FreshAt(200) == At(10));
  CHECK(meter.FreshAt(300) == At(20));
  // It may be ahead of what the primary was last asked.
  CHECK(meter.FreshAt(1'000'000) == At(20));
}

TEST_CASE("an idle primary makes no replica late") {
  LagMeter meter;
  meter.PrimaryAt(100, At(0));
  for (int64_t time = 10; time <= 60'000; time += 10) meter.PrimaryAt(100, At(time));
  CHECK(meter.FreshAt(100) == At(60'000));
  CHECK_FALSE(meter.FreshAt(99).has_value());
}

TEST_CASE("positions of another log, or of a primary that was left, are worth nothing") {
  LagMeter meter;
  meter.PrimaryAt(500, At(0));
  meter.PrimaryAt(90, At(10));
  CHECK_FALSE(meter.FreshAt(89).has_value());
  CHECK(meter.FreshAt(500) == At(10));
  meter.Forget();
  CHECK_FALSE(meter.FreshAt(500).has_value());
}

TEST_CASE("only the newest positions are remembered") {
  LagMeter meter(3);
  for (int64_t i = 1; i <= 5; ++i) meter.PrimaryAt(i * 100, At(i));
  CHECK_FALSE(meter.FreshAt(299).has_value());
  CHECK(meter.FreshAt(300) == At(3));
}

}  // namespace
}  // namespace counter::postgres
