#include "cache/redis/connection.h"

#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "cache/redis/greeting.h"

namespace counter::redis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr size_t kReadBytes = size_t{64} * 1024;

// One socket and what belongs to it. Shared by the loop and the handlers under way: a handler of a
// socket that was dropped may still come, and must find its buffers.
struct Session {
  Session(asio::io_context& context, asio::ssl::context* tls_context, const ReplyBounds& bounds)
      : resolver(context), reader(bounds) {
    if (tls_context != nullptr)
      tls = std::make_unique<TlsStream>(context, *tls_context);
    else
      plain = std::make_unique<tcp::socket>(context);
  }

  tcp::socket& socket() { return tls ? tls->next_layer() : *plain; }

  template <class Handler>
  void ReadSome(Handler handler) {
    if (tls)
      tls->async_read_some(asio::buffer(read_bytes), std::move(handler));
    else
      plain->async_read_some(asio::buffer(read_bytes), std::move(handler));
  }
  template <class Handler>
  void Write(Handler handler) {
    if (tls)
      asio::async_write(*tls, asio::buffer(write_bytes), std::move(handler));
    else
      asio::async_write(*plain, asio::buffer(write_bytes), std::move(handler));
  }
  void Close() {
    error_code ignored;
    resolver.cancel();
    socket().close(ignored);
  }

  tcp::resolver resolver;
  std::unique_ptr<tcp::socket> plain;  // One of these two.
  std::unique_ptr<TlsStream> tls;
  ReplyReader reader;
  std::array<char, kReadBytes> read_bytes;
  std::string write_bytes;
  bool is_writing = false;
};
using SessionPtr = std::shared_ptr<Session>;

uint64_t SeedOf(const ConnectionOptions& options) {
  return options.seed != 0 ? options.seed : std::random_device()() | 1U;
}

// Written by the loop, read by anybody.
struct Counters {
  std::atomic<int64_t> connects = 0;
  std::atomic<int64_t> breaks = 0;
  std::atomic<int64_t> breaker_opens = 0;
  std::atomic<int64_t> requests = 0;
  std::atomic<int64_t> answers = 0;
  std::atomic<int64_t> timeouts = 0;
  std::atomic<int64_t> refused_full = 0;
  std::atomic<int64_t> writes = 0;
};

}  // namespace

class Connection::Loop {
 public:
  explicit Loop(ConnectionOptions options)
      : options_(std::move(options)),
        work_(asio::make_work_guard(context_)),
        timer_(context_),
        multiplexer_(options_.bounds),
        link_(options_.link, SeedOf(options_)),
        breaker_(options_.breaker, SeedOf(options_) + 1) {
    if (options_.address.tls) MakeTlsContext();
  }

  void Listen(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }
  void Start() {
    asio::post(context_, [this] { OnTimer(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  void Stop();

  bool usable() const { return usable_.load(std::memory_order_acquire); }
  void Send(Request request);
  ConnectionStats Stats() const;
  std::string LastTrouble() const {
    MutexLock lock(mutex_);
    return last_trouble_;
  }

 private:
  using Phase = LinkState::Phase;

  void MakeTlsContext();

  // The life of a connection, in order.
  void BeginAttempt(MonotonicTime now);
  void OnResolved(const SessionPtr& session, error_code error, tcp::resolver::results_type found);
  void OnConnected(const SessionPtr& session, error_code error);
  void BeginGreeting(const SessionPtr& session);
  void OnGreeting(const Answer& answer);
  void Break(absl::string_view why);

  // Traffic.
  void TakeInbox();
  void Flush();
  void BeginRead(const SessionPtr& session);
  void OnRead(const SessionPtr& session, error_code error, size_t size);
  void OnReplies(std::vector<Reply> replies);
  void AddOwn(Commands commands, MonotonicTime deadline, absl::AnyInvocable<void(Answer)> done);

  // Time.
  void Arm(MonotonicTime at);
  void OnTimer();
  void Expire(MonotonicTime now);
  void WatchLink(MonotonicTime now);
  void BeginHeartbeat(MonotonicTime now);
  void BeginProbe(MonotonicTime now);
  MonotonicTime NextWake() const;

  void UpdateUsable();
  static void Tell(std::vector<Finished> finished) {
    for (Finished& one : finished) one.Tell();
  }

  const Clock& clock_ = Clock::System();  // The one that timers go by.
  const ConnectionOptions options_;
  std::vector<std::function<void()>> listeners_;

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
  std::atomic<bool> usable_ = false;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> breaker_open_ = false;
  Counters counters_;

  mutable Mutex mutex_;
  std::vector<Request> inbox_ ABSL_GUARDED_BY(mutex_);
  bool inbox_posted_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string last_trouble_ ABSL_GUARDED_BY(mutex_);

  // The loop's own.
  std::unique_ptr<asio::ssl::context> tls_context_;
  asio::steady_timer timer_;
  MonotonicTime armed_at_ = MonotonicTime::max();  // max: not armed.
  Multiplexer multiplexer_;
  LinkState link_;
  Breaker breaker_;
  SessionPtr session_;  // Null between attempts.
  MonotonicTime heartbeat_at_ = MonotonicTime::max();
};

// ---- The life of a connection ------------------------------------------------------------------

void Connection::Loop::MakeTlsContext() {
  tls_context_ = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  if (options_.tls_ca_file.empty())
    tls_context_->set_default_verify_paths(error);
  else
    tls_context_->load_verify_file(options_.tls_ca_file, error);
  // Without authorities every handshake fails, which LastTrouble() then says.
  tls_context_->set_verify_mode(asio::ssl::verify_peer, error);
}

void Connection::Loop::BeginAttempt(MonotonicTime now) {
  link_.OnAttempt(now);
  session_ = std::make_shared<Session>(context_, tls_context_.get(), options_.reply_bounds);
  SessionPtr session = session_;
  session->resolver.async_resolve(
      options_.address.host, absl::StrCat(options_.address.port),
      [this, session](error_code error, tcp::resolver::results_type found) {
        OnResolved(session, error, std::move(found));
      });
}

void Connection::Loop::OnResolved(const SessionPtr& session, error_code error,
                                  tcp::resolver::results_type found) {
  if (session != session_) return;
  if (error) return Break("its name could not be resolved");
  asio::async_connect(session->socket(), found, [this, session](error_code failed, tcp::endpoint) {
    OnConnected(session, failed);
  });
}

void Connection::Loop::OnConnected(const SessionPtr& session, error_code error) {
  if (session != session_) return;
  if (error) return Break("it refused the connection or could not be reached");
  session->socket().set_option(tcp::no_delay(true), error);
  if (!session->tls) return BeginGreeting(session);

  const std::string& host = options_.address.host;
  SSL_set_tlsext_host_name(session->tls->native_handle(), host.c_str());
  session->tls->set_verify_callback(asio::ssl::host_name_verification(host), error);
  session->tls->async_handshake(asio::ssl::stream_base::client, [this, session](error_code failed) {
    if (session != session_) return;
    if (failed)
      return Break("the TLS handshake failed: its certificate or protocol is not trusted");
    BeginGreeting(session);
  });
}

void Connection::Loop::BeginGreeting(const SessionPtr& session) {
  AddOwn(GreetingCommands(options_.address.login), link_.wakes_at(),
         [this, session](const Answer& answer) {
           if (session == session_) OnGreeting(answer);
         });
  BeginRead(session);
}

void Connection::Loop::OnGreeting(const Answer& answer) {
  if (!answer) return;  // The attempt is broken off by its own time limit.
  const absl::StatusOr<Greeting> greeting = ReadGreeting(options_.address.login, *answer);
  if (!greeting.ok()) return Break(greeting.status().message());
  const bool is_new_run = link_.OnReady(greeting->run_id);
  breaker_.Reset();
  counters_.connects.fetch_add(1, std::memory_order_relaxed);
  heartbeat_at_ = clock_.MonotonicNow() + options_.heartbeat;
  Arm(heartbeat_at_);
  UpdateUsable();
  if (!is_new_run) return;
  for (const std::function<void()>& listener : listeners_) listener();
}

void Connection::Loop::Break(absl::string_view why) {
  if (session_ != nullptr) session_->Close();
  session_ = nullptr;
  counters_.breaks.fetch_add(1, std::memory_order_relaxed);
  if (link_.phase() != Phase::kStopped) {
    link_.OnBroken(clock_.MonotonicNow());
    Arm(link_.wakes_at());
  }
  UpdateUsable();
  {
    MutexLock lock(mutex_);
    last_trouble_ = std::string(why);
  }
  Tell(multiplexer_.FailAll());
}

void Connection::Loop::Stop() {
  if (!thread_.joinable()) return;
  asio::post(context_, [this] {
    link_.OnStop();
    Break("it was stopped");
    timer_.cancel();
    work_.reset();
  });
  thread_.join();
  // What came too late for the loop. No loop is left to answer on.
  std::vector<Request> late;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    late.swap(inbox_);
  }
  for (Request& request : late) request.done(std::nullopt);
}

// ---- Traffic -----------------------------------------------------------------------------------

void Connection::Loop::Send(Request request) {
  bool is_closed = false;
  {
    MutexLock lock(mutex_);
    is_closed = is_closed_;
    if (!is_closed) {
      inbox_.push_back(std::move(request));
      if (std::exchange(inbox_posted_, true)) return;
    }
  }
  // After Stop there is no loop to answer on.
  if (is_closed) return request.done(std::nullopt);
  asio::post(context_, [this] { TakeInbox(); });
}

void Connection::Loop::TakeInbox() {
  std::vector<Request> arrived;
  {
    MutexLock lock(mutex_);
    arrived.swap(inbox_);
    inbox_posted_ = false;
  }
  std::vector<Finished> refused;
  counters_.requests.fetch_add(static_cast<int64_t>(arrived.size()), std::memory_order_relaxed);
  for (Request& request : arrived) {
    if (!usable()) {
      refused.push_back({std::move(request.done), std::nullopt});
      continue;
    }
    Arm(request.deadline);
    if (auto full = multiplexer_.Add(std::move(request))) {
      counters_.refused_full.fetch_add(1, std::memory_order_relaxed);
      refused.push_back(*std::move(full));
    }
  }
  Flush();
  Tell(std::move(refused));
}

void Connection::Loop::AddOwn(Commands commands, MonotonicTime deadline,
                              absl::AnyInvocable<void(Answer)> done) {
  Arm(deadline);
  std::optional<Finished> full = multiplexer_.Add({std::move(commands), deadline, std::move(done)});
  Flush();
  if (full) full->Tell();
}

void Connection::Loop::Flush() {
  if (session_ == nullptr || session_->is_writing || !multiplexer_.has_waiting()) return;
  session_->write_bytes = multiplexer_.TakeWrite(clock_.MonotonicNow());
  session_->is_writing = true;
  counters_.writes.fetch_add(1, std::memory_order_relaxed);
  SessionPtr session = session_;
  session->Write([this, session](error_code error, size_t) {
    session->is_writing = false;
    if (session != session_) return;
    if (error) return Break("it closed the connection");
    Flush();
  });
}

void Connection::Loop::BeginRead(const SessionPtr& session) {
  session->ReadSome(
      [this, session](error_code error, size_t size) { OnRead(session, error, size); });
}

void Connection::Loop::OnRead(const SessionPtr& session, error_code error, size_t size) {
  if (session != session_) return;
  if (error) return Break("it closed the connection");
  std::vector<Reply> replies;
  const absl::Status read = session->reader.Feed({session->read_bytes.data(), size}, replies);
  OnReplies(std::move(replies));
  if (session != session_) return;
  if (!read.ok()) return Break(read.message());
  BeginRead(session);
}

void Connection::Loop::OnReplies(std::vector<Reply> replies) {
  std::vector<Finished> finished;
  bool says_unusable = false;
  absl::Status in_step = absl::OkStatus();
  for (Reply& reply : replies) {
    // The greeting reads its own errors.
    says_unusable = says_unusable || (link_.phase() == Phase::kReady && SaysUnusable(reply));
    absl::StatusOr<std::optional<Finished>> matched = multiplexer_.OnReply(std::move(reply));
    if (!matched.ok()) {
      in_step = matched.status();
      break;
    }
    if (*matched) finished.push_back(**std::move(matched));
  }
  if (!finished.empty()) breaker_.OnAnswer();
  counters_.answers.fetch_add(static_cast<int64_t>(finished.size()), std::memory_order_relaxed);
  if (!in_step.ok()) {
    Break(in_step.message());
  } else if (says_unusable) {
    Break("it takes no writes, is loading or does not know us any more");
  }
  Tell(std::move(finished));
}

// ---- Time --------------------------------------------------------------------------------------

void Connection::Loop::Arm(MonotonicTime at) {
  if (armed_at_ <= at) return;
  armed_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](error_code error) {
    if (!error) OnTimer();
  });
}

void Connection::Loop::OnTimer() {
  armed_at_ = MonotonicTime::max();
  const MonotonicTime now = clock_.MonotonicNow();
  Expire(now);
  WatchLink(now);
  if (link_.phase() != Phase::kStopped) Arm(NextWake());
}

void Connection::Loop::Expire(MonotonicTime now) {
  std::vector<Finished> expired = multiplexer_.Expire(now);
  if (expired.empty()) return;
  counters_.timeouts.fetch_add(static_cast<int64_t>(expired.size()), std::memory_order_relaxed);
  for (size_t i = 0; i < expired.size(); ++i) {
    if (breaker_.OnTimeout(now)) counters_.breaker_opens.fetch_add(1, std::memory_order_relaxed);
  }
  UpdateUsable();
  Tell(std::move(expired));
}

void Connection::Loop::WatchLink(MonotonicTime now) {
  if (link_.phase() == Phase::kPausing && now >= link_.wakes_at()) return BeginAttempt(now);
  if (link_.phase() == Phase::kAttempting && now >= link_.wakes_at()) {
    return Break("it did not answer the greeting in time");
  }
  if (link_.phase() != Phase::kReady) return;
  const std::optional<MonotonicTime> oldest = multiplexer_.OldestSent();
  if (oldest && Between(*oldest, now) > options_.silence_max) {
    return Break("it has stopped answering");
  }
  if (now >= heartbeat_at_) BeginHeartbeat(now);
  if (breaker_.state() == Breaker::State::kOpen && now >= breaker_.probe_at()) BeginProbe(now);
}

void Connection::Loop::BeginHeartbeat(MonotonicTime now) {
  heartbeat_at_ = now + options_.heartbeat;
  // Its answer is looked at as every answer is.
  if (breaker_.state() == Breaker::State::kClosed) {
    AddOwn(WriteProbe(), now + options_.heartbeat, [](const Answer&) {});
  }
}

void Connection::Loop::BeginProbe(MonotonicTime now) {
  breaker_.OnProbe();
  SessionPtr session = session_;
  AddOwn(WriteProbe(), now + options_.probe_budget, [this, session](const Answer& answer) {
    if (session != session_ || breaker_.state() != Breaker::State::kProbing) return;
    breaker_.OnProbeEnd(answer.has_value(), clock_.MonotonicNow());
    UpdateUsable();
    if (breaker_.state() == Breaker::State::kOpen) Arm(breaker_.probe_at());
  });
}

MonotonicTime Connection::Loop::NextWake() const {
  MonotonicTime next = multiplexer_.NextDeadline().value_or(MonotonicTime::max());
  if (link_.phase() == Phase::kPausing || link_.phase() == Phase::kAttempting) {
    return std::min(next, link_.wakes_at());
  }
  if (breaker_.state() == Breaker::State::kOpen) next = std::min(next, breaker_.probe_at());
  return std::min(next, heartbeat_at_);
}

// ---- What others see ---------------------------------------------------------------------------

void Connection::Loop::UpdateUsable() {
  const bool is_ready = link_.phase() == Phase::kReady;
  const bool is_closed = breaker_.state() == Breaker::State::kClosed;
  ready_.store(is_ready, std::memory_order_relaxed);
  breaker_open_.store(is_ready && !is_closed, std::memory_order_relaxed);
  usable_.store(is_ready && is_closed, std::memory_order_release);
}

ConnectionStats Connection::Loop::Stats() const {
  ConnectionStats stats;
  stats.ready = ready_;
  stats.breaker_open = breaker_open_;
  stats.connects = counters_.connects;
  stats.breaks = counters_.breaks;
  stats.breaker_opens = counters_.breaker_opens;
  stats.requests = counters_.requests;
  stats.answers = counters_.answers;
  stats.timeouts = counters_.timeouts;
  stats.refused_full = counters_.refused_full;
  stats.writes = counters_.writes;
  return stats;
}

Connection::Connection(ConnectionOptions options)
    : loop_(std::make_unique<Loop>(std::move(options))) {}

Connection::~Connection() { Stop(); }

void Connection::OnNewRun(std::function<void()> listener) { loop_->Listen(std::move(listener)); }
void Connection::Start() { loop_->Start(); }
void Connection::Stop() { loop_->Stop(); }
bool Connection::usable() const { return loop_->usable(); }
void Connection::Send(Request request) { loop_->Send(std::move(request)); }
ConnectionStats Connection::Stats() const { return loop_->Stats(); }
std::string Connection::LastTrouble() const { return loop_->LastTrouble(); }

}  // namespace counter::redis
