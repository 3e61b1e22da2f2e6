#include "tests/torture/late_line.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"

namespace counter::testing {

class LateLine::Tap final : public ProxyTap {
 public:
  explicit Tap(const LateLine& line) : line_(line) {}

  bool FromClient(std::string& /*bytes*/) override { return !line_.is_cut_; }

  bool FromServer(std::string& bytes) override {
    const absl::Time now = absl::Now();
    if (!bytes.empty()) {
      held_.push_back({now + absl::Microseconds(line_.delay_us_.load()), std::move(bytes)});
      bytes.clear();
    }
    if (line_.is_cut_) return false;
    while (!held_.empty() && held_.front().due <= now) {
      bytes += held_.front().bytes;
      held_.pop_front();
    }
    return true;
  }

  bool KeepsForClient() const override { return !held_.empty(); }

 private:
  struct Held {
    absl::Time due;
    std::string bytes;
  };

  const LateLine& line_;
  std::deque<Held> held_;  // The oldest first.
};

LateLine::LateLine(const Proxy::Address& server)
    : proxy_({.server = server, .make_tap = [this] { return std::make_unique<Tap>(*this); }}) {}

void LateLine::Cut() {
  is_cut_ = true;
  proxy_.BreakAll();
}

}  // namespace counter::testing
