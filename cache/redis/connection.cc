#include "cache/redis/connection.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/redis/connection_counters.h"
#include "cache/redis/greeting.h"
#include "cache/redis/inbox.h"
#include "cache/redis/session.h"

namespace counter::redis {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using SessionPtr = std::shared_ptr<Session>;

uint64_t SeedOf(const ConnectionOptions& options) {
  return options.seed != 0 ? options.seed : std::random_device()() | 1U;
}

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
    if (options_.address.tls) authorities_ = TrustedAuthorities(options_.tls_ca_file);
  }

  void Listen(std::function<void()> listener) { listeners_.push_back(std::move(listener)); }
  void Start() {
    Post(context_, [this] { OnTimer(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  void Stop();

  bool usable() const { return usable_.load(std::memory_order_acquire); }
  void Send(Request request);
  ConnectionStats Stats() const { return counters_.Stats(); }
  std::string LastTrouble() const {
    MutexLock lock(mutex_);
    return last_trouble_;
  }

 private:
  using Phase = LinkState::Phase;

  // The life of a connection, in order.
  void BeginAttempt(MonotonicTime now);
  void BeginGreeting(const SessionPtr& session);
  void OnGreeting(const Answer& answer);
  void Break(absl::string_view why);
  void Say(absl::string_view what);

  // Traffic.
  void TakeInbox();
  void Flush();
  void BeginRead(const SessionPtr& session);
  void OnRead(const SessionPtr& session, absl::string_view bytes);
  void OnReplies(std::vector<Reply> replies);
  void AddOwn(Commands commands, MonotonicTime deadline, absl::AnyInvocable<void(Answer)> done);
  // Into the ledger; handed back if there is no room.
  std::optional<Finished> Take(Request request);
  void NoteOpen() { counters_.requests_open.Set(multiplexer_.requests()); }

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
  ConnectionCounters counters_;
  Inbox inbox_;

  mutable Mutex mutex_;
  std::string last_trouble_ ABSL_GUARDED_BY(mutex_);

  // The loop's own.
  std::unique_ptr<asio::ssl::context> authorities_;  // Null: no TLS.
  asio::steady_timer timer_;
  MonotonicTime armed_at_ = MonotonicTime::max();  // max: not armed.
  Multiplexer multiplexer_;
  LinkState link_;
  Breaker breaker_;
  SessionPtr session_;                 // Null between attempts.
  std::optional<ReplyReader> reader_;  // Of the session.
  MonotonicTime heartbeat_at_ = MonotonicTime::max();
  std::string last_said_;
};

// ---- The life of a connection ------------------------------------------------------------------

void Connection::Loop::BeginAttempt(MonotonicTime now) {
  link_.OnAttempt(now);
  session_ = std::make_shared<Session>(context_, authorities_.get());
  reader_.emplace(options_.reply_bounds);
  session_->Open(options_.address, [this, session = session_](absl::string_view trouble) {
    if (session != session_) return;
    if (!trouble.empty()) return Break(trouble);
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
  breaker_.Reset(clock_.MonotonicNow());
  counters_.connects.Add();
  heartbeat_at_ = clock_.MonotonicNow() + options_.heartbeat;
  Arm(heartbeat_at_);
  UpdateUsable();
  Say("connected");
  if (!is_new_run) return;
  for (const std::function<void()>& listener : listeners_) listener();
}

void Connection::Loop::Break(absl::string_view why) {
  if (session_ != nullptr) session_->Close();
  session_ = nullptr;
  counters_.breaks.Add();
  if (link_.phase() != Phase::kStopped) {
    link_.OnBroken(clock_.MonotonicNow());
    Arm(link_.wakes_at());
  }
  UpdateUsable();
  {
    MutexLock lock(mutex_);
    last_trouble_ = std::string(why);
  }
  if (link_.phase() != Phase::kStopped) Say(why);
  std::vector<Finished> lost = multiplexer_.FailAll();
  counters_.lost.Add(lost.size());
  NoteOpen();
  Tell(std::move(lost));
}

// Attempts go on for as long as Redis is gone; only what is new is news.
void Connection::Loop::Say(absl::string_view what) {
  if (std::exchange(last_said_, std::string(what)) != what && options_.say)
    options_.say(last_said_);
}

void Connection::Loop::Stop() {
  if (!thread_.joinable()) return;
  Post(context_, [this] {
    link_.OnStop();
    Break("it was stopped");
    timer_.cancel();
    work_.reset();
  });
  thread_.join();
  // What came too late for the loop. No loop is left to answer on.
  std::vector<Request> late;
  inbox_.Close(late);
  for (Request& request : late) request.done(std::nullopt);
}

// ---- Traffic -----------------------------------------------------------------------------------

void Connection::Loop::Send(Request request) {
  const Inbox::Put put = inbox_.Add(request);
  // After Stop there is no loop to answer on.
  if (put == Inbox::Put::kClosed) return request.done(std::nullopt);
  if (put == Inbox::Put::kWakeTheLoop) Post(context_, [this] { TakeInbox(); });
}

void Connection::Loop::TakeInbox() {
  std::vector<Finished> refused;
  for (Request& request : inbox_.TakeAll()) {
    if (usable()) {
      if (auto full = Take(std::move(request))) refused.push_back(*std::move(full));
      continue;
    }
    counters_.requests.Add();
    counters_.lost.Add();
    refused.push_back({std::move(request.done), std::nullopt});
  }
  Flush();
  Tell(std::move(refused));
}

void Connection::Loop::AddOwn(Commands commands, MonotonicTime deadline,
                              absl::AnyInvocable<void(Answer)> done) {
  std::optional<Finished> full = Take({std::move(commands), deadline, std::move(done)});
  Flush();
  if (full) full->Tell();
}

std::optional<Finished> Connection::Loop::Take(Request request) {
  Arm(request.deadline);
  counters_.requests.Add();
  counters_.commands.Add(static_cast<size_t>(request.commands.count()));
  std::optional<Finished> full = multiplexer_.Add(std::move(request));
  if (full) counters_.refused_full.Add();
  NoteOpen();
  return full;
}

void Connection::Loop::Flush() {
  if (session_ == nullptr || session_->is_writing() || !multiplexer_.has_waiting()) return;
  counters_.writes.Add();
  session_->Write(multiplexer_.TakeWrite(clock_.MonotonicNow()),
                  [this, session = session_](bool written) {
                    if (session != session_) return;
                    if (!written) return Break("it closed the connection");
                    Flush();
                  });
}

void Connection::Loop::BeginRead(const SessionPtr& session) {
  session->Read([this, session](absl::string_view bytes) { OnRead(session, bytes); });
}

void Connection::Loop::OnRead(const SessionPtr& session, absl::string_view bytes) {
  if (session != session_) return;
  if (bytes.empty()) return Break("it closed the connection");
  std::vector<Reply> replies;
  const absl::Status read = reader_->Feed(bytes, replies);
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
  if (!finished.empty()) breaker_.OnAnswer(clock_.MonotonicNow());
  counters_.answers.Add(finished.size());
  counters_.late_answers.Set(multiplexer_.late_answers());
  NoteOpen();
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
  counters_.timeouts.Add(expired.size());
  NoteOpen();
  for (size_t i = 0; i < expired.size(); ++i) {
    if (breaker_.OnTimeout(now)) counters_.breaker_opens.Add();
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
  counters_.ready.Set(is_ready ? 1 : 0);
  counters_.breaker_open.Set(is_ready && !is_closed ? 1 : 0);
  usable_.store(is_ready && is_closed, std::memory_order_release);
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
