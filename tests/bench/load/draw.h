// How a benchmark draws the ids that it sends: uniform, by Zipf's law, one hot one, or each in
// turn.
//
// A Draw is written as text, on command lines and in reports:
//   uniform:N   each of 1..N equally likely
//   zipf:N      id k with a weight of 1/k, scattered over 1..N so that neighbours are not both hot
//   hot         always 1
//   walk:N      each of 1..N once before any comes again, scattered
//   new         1, 2, 3, ...: never one that came before
//
// Threads: Next from any thread, each with a random source of its own.
#ifndef COUNTER_TESTS_BENCH_LOAD_DRAW_H_
#define COUNTER_TESTS_BENCH_LOAD_DRAW_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter::bench {

class Draw {
 public:
  // `first` is where "walk" and "new" begin. An error names the text and what was expected.
  static absl::StatusOr<std::unique_ptr<Draw>> Parse(absl::string_view text, int64_t first = 1);
  virtual ~Draw() = default;

  // An id, 1 or more.
  virtual int64_t Next(std::mt19937_64& random) = 0;
};

}  // namespace counter::bench

#endif  // COUNTER_TESTS_BENCH_LOAD_DRAW_H_
