#include "server/rpc/listener.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/quiet_thread.h"

namespace counter::rpc {
namespace {

// How long accepting rests where descriptors or memory have run out.
constexpr std::chrono::milliseconds kPause(100);
// Connections accepted at one go, so that ends are heard of between.
constexpr int kAcceptsMax = 64;

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

bool Watch(const Socket& epoll, int operation, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(epoll.fd(), operation, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const Options& options) {
  absl::StatusOr<ListeningSockets> listening = Listen(options.address, options.send_timeout);
  if (!listening.ok()) return listening.status();
  std::unique_ptr<Listener> listener(new Listener(options, *std::move(listening)));
  if (!listener->Prepare()) return absl::ResourceExhaustedError("no descriptors are left");
  return listener;
}

Listener::Listener(const Options& options, ListeningSockets listening)
    : port_(listening.port),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      listening_(std::move(listening.sockets)),
      counts_(options.limits) {}

bool Listener::Prepare() {
  if (!epoll_.ok() || !wakeup_.ok()) return false;
  bool watched = Watch(epoll_, EPOLL_CTL_ADD, wakeup_.fd(), EPOLLIN);
  for (const Socket& socket : listening_) {
    watched = watched && Watch(epoll_, EPOLL_CTL_ADD, socket.fd(), EPOLLIN);
  }
  return watched;
}

Listener::~Listener() {
  if (!thread_.joinable()) return;
  Wish([](Wishes& wishes) { wishes.end = true; });
  thread_.join();
}

Listener::Stats Listener::stats() const { return {open_, refused_, refused_of_address_, failed_}; }

void Listener::Start(Take take) {
  take_ = std::move(take);
  thread_ = StartThreadWithoutSignals([this] { Serve(); });
  pthread_setname_np(thread_.native_handle(), "rpc-listener");
}

void Listener::StopAccepting() {
  Wish([](Wishes& wishes) { wishes.stop_accepting = true; });
  MutexLock lock(mutex_);
  while (accepts_) changed_.Wait(mutex_);
}

void Listener::CloseAllAfter(absl::Duration patience) {
  const MonotonicTime then = Now() + absl::ToChronoMilliseconds(patience);
  Wish([then](Wishes& wishes) { wishes.close_all = then; });
}

void Listener::Wish(const std::function<void(Wishes&)>& wish) {
  {
    MutexLock lock(mutex_);
    wish(wishes_);
  }
  const uint64_t one = 1;
  // It can only fail where a wakeup is due anyhow.
  [[maybe_unused]] const ssize_t written = write(wakeup_.fd(), &one, sizeof one);
}

Listener::Wishes Listener::ReadWishes() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t read_bytes = read(wakeup_.fd(), &count, sizeof count);
  MutexLock lock(mutex_);
  const Wishes wishes = wishes_;
  if (wishes.close_all <= Now()) wishes_.close_all = MonotonicTime::max();
  return wishes;
}

void Listener::Serve() {
  std::array<epoll_event, 256> events;
  while (true) {
    const Wishes wishes = ReadWishes();
    if (wishes.end) return;
    if (wishes.stop_accepting && !listening_.empty()) {
      listening_.clear();
      MutexLock lock(mutex_);
      accepts_ = false;
      changed_.NotifyAll();
    }
    if (wishes.close_all <= Now()) {
      for (const auto& [duplicate, connection] : connections_) shutdown(duplicate, SHUT_RDWR);
    }
    if (resume_ <= Now()) Resume();

    const int count = epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()),
                                 MillisecondsToWait(wishes));
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      const auto listening = std::find_if(listening_.begin(), listening_.end(),
                                          [fd](const Socket& one) { return one.fd() == fd; });
      if (listening != listening_.end()) {
        Accept(*listening);
      } else if (fd != wakeup_.fd()) {
        Leave(fd);
      }
    }
  }
}

int Listener::MillisecondsToWait(const Wishes& wishes) const {
  const MonotonicTime next = std::min(wishes.close_all, resume_);
  if (next == MonotonicTime::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

void Listener::Accept(const Socket& listening) {
  for (int i = 0; i < kAcceptsMax; ++i) {
    Socket connection(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.ok()) {
      Enter(std::move(connection), listening.fd());
      continue;
    }
    if (errno == EAGAIN) return;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      ++failed_;
      return Pause();
    }
    // The peer has gone meanwhile, or its network has: the next one.
  }
}

void Listener::Enter(Socket connection, int listening) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof peer;
  if (getpeername(connection.fd(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) return;
  std::string party = PartyOf(reinterpret_cast<const sockaddr&>(peer));
  switch (counts_.Enter(party)) {
    case ConnectionCounts::Verdict::kTooMany:
      ++refused_;
      return;
    case ConnectionCounts::Verdict::kTooManyOfAddress:
      ++refused_of_address_;
      return;
    case ConnectionCounts::Verdict::kAdmitted:
      break;
  }
  Socket duplicate(fcntl(connection.fd(), F_DUPFD_CLOEXEC, 0));
  // Of its end and of nothing else: bytes are gRPC's.
  if (!duplicate.ok() || !Watch(epoll_, EPOLL_CTL_ADD, duplicate.fd(), 0)) {
    ++failed_;
    counts_.Leave(party);
    return Pause();
  }
  const int number = duplicate.fd();
  connections_.emplace(number, Connection{std::move(duplicate), std::move(party)});
  open_ = counts_.connections();
  take_(connection.Release(), listening);
}

// gRPC shuts a connection down before it closes its descriptor, or the peer has reset it.
void Listener::Leave(int duplicate) {
  const auto found = connections_.find(duplicate);
  if (found == connections_.end()) return;
  counts_.Leave(found->second.party);
  connections_.erase(found);
  open_ = counts_.connections();
}

void Listener::Pause() {
  if (resume_ == MonotonicTime::max()) {
    static LogThrottle throttle(absl::Minutes(1));
    throttle.Log(LogLevel::kWarning,
                 "Connections have to wait: descriptors or memory have run out.",
                 {{"open", open_.load()}});
  }
  resume_ = Now() + kPause;
  for (const Socket& socket : listening_) Watch(epoll_, EPOLL_CTL_MOD, socket.fd(), 0);
}

void Listener::Resume() {
  resume_ = MonotonicTime::max();
  for (const Socket& socket : listening_) Watch(epoll_, EPOLL_CTL_MOD, socket.fd(), EPOLLIN);
}

}  // namespace counter::rpc
