#include "server/files/file_watch.h"

#include "base/clock.h"
#include "base/quiet_thread.h"

namespace counter {

FileWatch::~FileWatch() { Stop(); }

void FileWatch::Start() {
  if (looks_.empty() || thread_.joinable()) return;
  thread_ = StartThreadWithoutSignals([this] { Run(); });
}

void FileWatch::Stop() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void FileWatch::Run() {
  while (true) {
    const MonotonicTime next = Clock::System().MonotonicNow() + kPeriod;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && Clock::System().MonotonicNow() < next) changed_.WaitUntil(mutex_, next);
      if (stopping_) return;
    }
    for (const auto& look : looks_) look();
  }
}

}  // namespace counter
