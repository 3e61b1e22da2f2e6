#include "tests/support/faulty_line.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/time/clock.h"

namespace counter::testing {

class FaultyLine::Tap final : public ProxyTap {
 public:
  explicit Tap(const FaultyLine& line) : line_(line) {}

  bool FromClient(std::string& bytes) override {
    const Fault fault = Now();
    if (fault == Fault::kCut) {
      if (!is_cutting_) passed_ = 0;
      is_cutting_ = true;
      const int64_t left = std::max<int64_t>(line_.cut_after_ - passed_, 0);
      if (static_cast<int64_t>(bytes.size()) >= left) {
        bytes.resize(static_cast<size_t>(left));
        return false;
      }
      passed_ += static_cast<int64_t>(bytes.size());
      return true;
    }
    is_cutting_ = false;
    return Both(fault, bytes);
  }

  bool FromServer(std::string& bytes) override {
    const Fault fault = Now();
    if (fault == Fault::kDropReplies) {
      bytes.clear();
      return false;
    }
    return Both(fault, bytes);
  }

  bool IsOver() const override { return has_lost_; }

 private:
  // The fault of this connection.
  Fault Now() const {
    return has_lost_ && line_.lost_stay_ ? Fault::kSwallow : line_.fault_.load();
  }

  bool Both(Fault fault, std::string& bytes) {
    if (fault == Fault::kRefuse || (has_lost_ && fault != Fault::kSwallow)) {
      bytes.clear();
      return false;
    }
    if (fault == Fault::kSwallow) {
      has_lost_ = true;
      bytes.clear();
      // Pass() may have looked a moment ago.
      return Now() == Fault::kSwallow;
    }
    if (fault == Fault::kSlow) absl::SleepFor(absl::Microseconds(line_.delay_us_.load()));
    return true;
  }

  const FaultyLine& line_;
  std::atomic<bool> has_lost_ = false;
  // Of the client's side.
  bool is_cutting_ = false;
  int64_t passed_ = 0;  // Since the line is to be cut.
};

FaultyLine::FaultyLine(const Options& options)
    : proxy_({.listen = options.listen,
              .server = options.server,
              .listener = options.listener,
              .buffer_bytes = options.buffer_bytes,
              .make_tap = [this] { return std::make_unique<Tap>(*this); }}) {}

void FaultyLine::PassOthers() {
  lost_stay_ = true;
  Set(Fault::kNone);
}

void FaultyLine::Pass() {
  lost_stay_ = false;
  Set(Fault::kNone);
  // Each side may wait for the other for ever.
  proxy_.BreakOver();
}

void FaultyLine::Slow(absl::Duration by) {
  delay_us_ = absl::ToInt64Microseconds(by);
  Set(Fault::kSlow);
}

void FaultyLine::CutAfter(int64_t bytes) {
  cut_after_ = bytes;
  Set(Fault::kCut);
}

void FaultyLine::Refuse() {
  Set(Fault::kRefuse);
  proxy_.BreakAll();
}

}  // namespace counter::testing
