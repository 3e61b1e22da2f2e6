#include "clients/load/draw.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/load/zipf.h"

namespace counter::load {
namespace {

constexpr int64_t kIdsMax = 1'000'000'000;
constexpr int64_t kZipfIdsMax = 20'000'000;  // 8 bytes of table each.

// A permutation of 1..n: rank k to an id far from that of k + 1.
class Scatter {
 public:
  explicit Scatter(int64_t n) : n_(n), stride_(std::max(int64_t{1}, n * 618 / 1000)) {
    while (std::gcd(stride_, n_) != 1) ++stride_;
  }
  int64_t operator()(int64_t rank) const { return (rank % n_) * stride_ % n_ + 1; }

 private:
  const int64_t n_;
  int64_t stride_;
};

class Uniform : public Draw {
 public:
  explicit Uniform(int64_t n) : n_(static_cast<uint64_t>(n)) {}
  int64_t Next(uint64_t bits) override { return static_cast<int64_t>(bits % n_) + 1; }

 private:
  const uint64_t n_;
};

class ZipfDraw : public Draw {
 public:
  explicit ZipfDraw(int64_t n) : ranks_(static_cast<size_t>(n)), scatter_(n) {}
  int64_t Next(uint64_t bits) override {
    constexpr double kUnit = 1.0 / static_cast<double>(uint64_t{1} << 53);
    return scatter_(static_cast<int64_t>(ranks_.RankAt(static_cast<double>(bits >> 11) * kUnit)));
  }

 private:
  const Zipf ranks_;
  const Scatter scatter_;
};

class Walk : public Draw {
 public:
  Walk(int64_t n, int64_t first) : scatter_(n), next_(first - 1) {}
  int64_t Next(uint64_t /*bits*/) override { return scatter_(next_++); }

 private:
  const Scatter scatter_;
  std::atomic<int64_t> next_;
};

class New : public Draw {
 public:
  explicit New(int64_t first) : next_(first) {}
  int64_t Next(uint64_t /*bits*/) override { return next_++; }

 private:
  std::atomic<int64_t> next_;
};

class Hot : public Draw {
 public:
  int64_t Next(uint64_t /*bits*/) override { return 1; }
};

}  // namespace

absl::StatusOr<std::unique_ptr<Draw>> Draw::Parse(absl::string_view text, int64_t first) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const auto& [kind, number] = parts;
  if (text == "hot") return std::make_unique<Hot>();
  if (text == "new") return std::make_unique<New>(first);
  int64_t n = 0;
  const int64_t n_max = kind == "zipf" ? kZipfIdsMax : kIdsMax;
  if (absl::SimpleAtoi(number, &n) && n >= 1 && n <= n_max) {
    if (kind == "uniform") return std::make_unique<Uniform>(n);
    if (kind == "zipf") return std::make_unique<ZipfDraw>(n);
    if (kind == "walk") return std::make_unique<Walk>(n, first);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is no way to draw ids; expected hot, new, uniform:N or walk:N with N from 1 to ", kIdsMax,
      ", or zipf:N with N from 1 to ", kZipfIdsMax));
}

}  // namespace counter::load
