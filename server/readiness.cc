#include "server/readiness.h"

#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/log.h"

namespace counter {

constexpr absl::Duration Readiness::kPeriod;

Readiness::Readiness(const LikeStore& store, std::function<void(bool)> on_change)
    : store_(store), on_change_(std::move(on_change)) {
  Tell(store_.Health().ok());
  thread_ = std::thread([this] { Watch(); });
}

Readiness::~Readiness() { Stop(); }

bool Readiness::ready() const {
  MutexLock lock(mutex_);
  return ready_;
}

void Readiness::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  Tell(false);
}

void Readiness::Watch() {
  bool known = ready();
  while (true) {
    {
      MutexLock lock(mutex_);
      const MonotonicTime next = Clock::System().MonotonicNow() + kPeriod;
      while (!stopping_ && Clock::System().MonotonicNow() < next) wake_.WaitUntil(mutex_, next);
      if (stopping_) return;
    }
    const absl::Status health = store_.Health();
    if (health.ok() == known) continue;
    known = health.ok();
    if (known) {
      Log(LogLevel::kInfo, "The store answers again; the server is ready.");
    } else {
      Log(LogLevel::kError, "The store cannot serve; the server is not ready until it can.",
          {{"why", health.message()}});
    }
    Tell(known);
  }
}

void Readiness::Tell(bool ready) {
  {
    MutexLock lock(mutex_);
    ready_ = ready;
  }
  on_change_(ready);
}

}  // namespace counter
