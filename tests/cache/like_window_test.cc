#include "cache/local/like_window.h"

#include <catch2/catch.hpp>

namespace counter {
namespace {

constexpr absl::Duration kLength = absl::Seconds(60);
const MonotonicTime kNow = MonotonicTime(std::chrono::hours(24));

TEST_CASE("a window is open from its start up to its end") {
  const LikeWindow window{1, kNow + kLength, 0};
  CHECK(window.IsOpen(kNow, kLength));
  CHECK(window.IsOpen(kNow + kLength * 0.99, kLength));
  CHECK_FALSE(window.IsOpen(kNow + kLength, kLength));
  CHECK_FALSE(LikeWindow{}.IsOpen(kNow, kLength));
}

TEST_CASE("D9: a window without a sensible end locks nobody out") {
  const LikeWindow window{1, kNow + absl::Hours(1), 100};
  CHECK_FALSE(window.IsOpen(kNow, kLength));
  const LikeWindow never_ends{1, MonotonicTime::max(), 100};
  CHECK_FALSE(never_ends.IsOpen(kNow, kLength));
}

TEST_CASE("D9: a window that is over its limit grants nothing, and nothing negative") {
  LikeWindow window{1, kNow + kLength, 150};
  CHECK(window.Reserve(5, 100) == 0);
  CHECK(window.used == 150);
}

}  // namespace
}  // namespace counter
