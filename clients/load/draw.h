// Draw: how a load draws the ids that it sends: uniform, by Zipf's law, one hot one, or each in
// turn.
//
// A Draw is written as text, on command lines and in reports:
//   uniform:N   each of 1..N equally likely
//   zipf:N      id k with a weight of 1/k, scattered over 1..N so that neighbours are not both hot
//   hot         always 1
//   walk:N      each of 1..N once before any comes again, scattered
//   new         1, 2, 3, ...: never one that came before
//
// Threads: Next from any thread.
#ifndef COUNTER_CLIENTS_LOAD_DRAW_H_
#define COUNTER_CLIENTS_LOAD_DRAW_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter::load {

class Draw {
 public:
  // `first` is where "walk" and "new" begin. An error names the text and what was expected.
  static absl::StatusOr<std::unique_ptr<Draw>> Parse(absl::string_view text, int64_t first = 1);
  virtual ~Draw() = default;

  // An id, 1 or more. `bits` are 64 random ones; but for "walk" and "new", the same bits come to
  // the same id.
  virtual int64_t Next(uint64_t bits) = 0;
};

}  // namespace counter::load

#endif  // COUNTER_CLIENTS_LOAD_DRAW_H_
