#include "cache/redis/link.h"

#include <algorithm>
#include <utility>

namespace counter::redis {

namespace asio = boost::asio;
using boost::system::error_code;

Link::Link(const Surroundings& surroundings, Node node, uint64_t seed)
    : context_(surroundings.context),
      options_(surroundings.options),
      authorities_(surroundings.authorities),
      counters_(surroundings.counters),
      owner_(surroundings.owner),
      node_(std::move(node)),
      timer_(context_),
      multiplexer_(options_.bounds),
      link_(options_.link, seed),
      breaker_(options_.breaker, seed + 1) {}

void Link::Begin() { OnTimer(); }

void Link::End() {
  link_.OnStop();
  Break("it was stopped");
  timer_.cancel();
}

// ---- The life of a connection ------------------------------------------------------------------

void Link::BeginAttempt(MonotonicTime now) {
  link_.OnAttempt(now);
  session_ = std::make_shared<Session>(context_, authorities_);
  reader_.emplace(options_.reply_bounds);
  session_->Open(node_, [self = shared_from_this(), session = session_](absl::string_view trouble) {
    if (session != self->session_) return;
    if (!trouble.empty()) return self->Break(trouble);
    self->BeginGreeting(session);
  });
}

void Link::BeginGreeting(const SessionPtr& session) {
  AddOwn(GreetingCommands(options_.address.login, probed_key_), link_.wakes_at(),
         [this, session](const Answer& answer) {
           if (session == session_) OnGreeting(answer);
         });
  BeginRead(session);
}

void Link::OnGreeting(const Answer& answer) {
  if (!answer) return;  // The attempt is broken off by its own time limit.
  const absl::StatusOr<Greeting> greeting = ReadGreeting(options_.address.login, *answer);
  if (!greeting.ok()) return Break(greeting.status().message());
  const bool is_new_run = link_.OnReady(greeting->run_id);
  breaker_.Reset(clock_.MonotonicNow());
  const SessionPtr session = session_;
  const std::string refusal = owner_.OnReady(*this, *greeting);
  if (session != session_) return;  // The owner has ended it.
  if (!refusal.empty()) return Break(refusal);
  counters_.connects.Add();
  heartbeat_at_ = clock_.MonotonicNow() + options_.heartbeat;
  Arm(heartbeat_at_);
  UpdateUsable();
  Say("connected");
  if (is_new_run && session == session_) owner_.OnNewRun(*this);
}

void Link::Break(absl::string_view why) {
  if (session_ != nullptr) session_->Close();
  session_ = nullptr;
  counters_.breaks.Add();
  if (link_.phase() != Phase::kStopped) {
    link_.OnBroken(clock_.MonotonicNow());
    Arm(link_.wakes_at());
    owner_.OnTrouble(*this, why);
  }
  if (link_.phase() != Phase::kStopped) Say(why);
  std::vector<Finished> lost = multiplexer_.FailAll();
  counters_.lost.Add(static_cast<int64_t>(lost.size()));
  NoteOpen();
  UpdateUsable();
  Tell(std::move(lost));
}

// Attempts go on for as long as Redis is gone; only what is new is news.
void Link::Say(absl::string_view what) {
  if (std::exchange(last_said_, std::string(what)) != what) owner_.OnNews(*this, what);
}

// ---- Traffic -----------------------------------------------------------------------------------

std::optional<Finished> Link::Take(Request request) {
  if (usable()) return Add(std::move(request));
  counters_.requests.Add();
  counters_.lost.Add();
  return Finished{std::move(request.done), std::nullopt};
}

void Link::AddOwn(Commands commands, MonotonicTime deadline,
                  absl::AnyInvocable<void(Answer)> done) {
  std::optional<Finished> full = Add({std::move(commands), deadline, std::move(done)});
  Flush();
  if (full) full->Tell();
}

std::optional<Finished> Link::Add(Request request) {
  Arm(request.deadline);
  counters_.requests.Add();
  counters_.commands.Add(request.commands.count());
  std::optional<Finished> full = multiplexer_.Add(std::move(request));
  if (full) counters_.refused_full.Add();
  NoteOpen();
  return full;
}

void Link::NoteOpen() {
  const int64_t open = multiplexer_.requests();
  counters_.requests_open.Add(open - std::exchange(counted_open_, open));
  const int64_t late = multiplexer_.late_answers();
  counters_.late_answers.Add(late - std::exchange(counted_late_, late));
}

void Link::Flush() {
  if (session_ == nullptr || session_->is_writing() || !multiplexer_.has_waiting()) return;
  counters_.writes.Add();
  session_->Write(multiplexer_.TakeWrite(clock_.MonotonicNow()),
                  [self = shared_from_this(), session = session_](bool written) {
                    if (session != self->session_) return;
                    if (!written) return self->Break("it closed the connection");
                    self->Flush();
                  });
}

void Link::BeginRead(const SessionPtr& session) {
  session->Read([self = shared_from_this(), session](absl::string_view bytes) {
    self->OnRead(session, bytes);
  });
}

void Link::OnRead(const SessionPtr& session, absl::string_view bytes) {
  if (session != session_) return;
  if (bytes.empty()) return Break("it closed the connection");
  std::vector<Reply> replies;
  const absl::Status read = reader_->Feed(bytes, replies);
  OnReplies(std::move(replies));
  if (session != session_) return;
  if (!read.ok()) return Break(read.message());
  BeginRead(session);
}

void Link::OnReplies(std::vector<Reply> replies) {
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
  counters_.answers.Add(static_cast<int64_t>(finished.size()));
  NoteOpen();
  if (!in_step.ok()) {
    Break(in_step.message());
  } else if (says_unusable) {
    Break("it takes no writes, is loading or does not know us any more");
  }
  Tell(std::move(finished));
}

// ---- Time --------------------------------------------------------------------------------------

void Link::Arm(MonotonicTime at) {
  if (armed_at_ <= at) return;
  armed_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->OnTimer();
  });
}

void Link::OnTimer() {
  armed_at_ = MonotonicTime::max();
  const MonotonicTime now = clock_.MonotonicNow();
  Expire(now);
  WatchLink(now);
  if (link_.phase() != Phase::kStopped) Arm(NextWake());
}

void Link::Expire(MonotonicTime now) {
  std::vector<Finished> expired = multiplexer_.Expire(now);
  if (expired.empty()) return;
  counters_.timeouts.Add(static_cast<int64_t>(expired.size()));
  NoteOpen();
  for (size_t i = 0; i < expired.size(); ++i) {
    if (breaker_.OnTimeout(now)) counters_.breaker_opens.Add();
  }
  UpdateUsable();
  Tell(std::move(expired));
}

void Link::WatchLink(MonotonicTime now) {
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

void Link::BeginHeartbeat(MonotonicTime now) {
  heartbeat_at_ = now + options_.heartbeat;
  // Its answer is looked at as every answer is; and who asks a node for nothing else would not hear
  // that another one has taken over, and what was put here lately forgotten by then.
  if (breaker_.state() == Breaker::State::kClosed) {
    SessionPtr session = session_;
    AddOwn(WriteProbe(probed_key_), now + options_.heartbeat,
           [this, session](const Answer& answer) {
             if (session != session_ || !answer || answer->empty()) return;
             if (SaysNotOwner(answer->front())) owner_.OnNotOwner(*this);
           });
  }
}

void Link::BeginProbe(MonotonicTime now) {
  breaker_.OnProbe();
  SessionPtr session = session_;
  AddOwn(WriteProbe(probed_key_), now + options_.probe_budget,
         [this, session](const Answer& answer) {
           if (session != session_ || breaker_.state() != Breaker::State::kProbing) return;
           breaker_.OnProbeEnd(answer.has_value(), clock_.MonotonicNow());
           if (breaker_.state() == Breaker::State::kOpen) Arm(breaker_.probe_at());
           UpdateUsable();
         });
}

MonotonicTime Link::NextWake() const {
  MonotonicTime next = multiplexer_.NextDeadline().value_or(MonotonicTime::max());
  if (link_.phase() == Phase::kPausing || link_.phase() == Phase::kAttempting) {
    return std::min(next, link_.wakes_at());
  }
  if (breaker_.state() == Breaker::State::kOpen) next = std::min(next, breaker_.probe_at());
  return std::min(next, heartbeat_at_);
}

// ---- What others see ---------------------------------------------------------------------------

void Link::UpdateUsable() {
  const bool is_ready = ready();
  const bool is_open = is_ready && breaker_.state() != Breaker::State::kClosed;
  counters_.links_ready.Add(int{is_ready} - int{std::exchange(counts_as_ready_, is_ready)});
  counters_.breakers_open.Add(int{is_open} - int{std::exchange(counts_as_breaker_open_, is_open)});
  const bool was_usable = std::exchange(is_usable_, is_ready && !is_open);
  if (was_usable != is_usable_ && link_.phase() != Phase::kStopped) owner_.OnUsable(*this);
}

}  // namespace counter::redis
