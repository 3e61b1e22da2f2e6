#include "server/files/file_watch.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"

namespace counter {

FileWatch::~FileWatch() { Stop(); }

void FileWatch::Start() {
  if (looks_.empty() || thread_.joinable()) return;
  // Signals are for the thread that waits for them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
