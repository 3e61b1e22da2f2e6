#include "storage/postgres/link.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "storage/postgres/session_statements.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

}  // namespace

Link::Link(asio::io_context& loop, Options options, Owner& owner)
    : loop_(loop),
      options_(std::move(options)),
      owner_(owner),
      state_(options_.limits, options_.seed, Now()),
      timer_(loop),
      status_(absl::UnavailableError("not connected yet")) {}

void Link::Start() {
  asio::post(loop_, [this] { Tick(); });
}

void Link::Stop() {
  stopped_ = true;
  timer_.cancel();
  if (attempt_ != nullptr) std::exchange(attempt_, nullptr)->Close();
  usable_ = false;
  if (ready_ != nullptr) std::exchange(ready_, nullptr)->Close();
}

absl::Duration Link::Silent(MonotonicTime now) const {
  const absl::Duration waiting = state_.ProbeWaiting(now);
  return waiting == absl::ZeroDuration() ? waiting : std::min(waiting, Between(heard(), now));
}

void Link::Tick() {
  if (stopped_) return;
  switch (state_.Next(Now())) {
    case LinkState::Step::kNothing:
      break;
    case LinkState::Step::kConnect:
      StartAttempt();
      break;
    case LinkState::Step::kGiveUp:
      ++stats_.timed_out;
      std::exchange(attempt_, nullptr)->Close();
      status_ = absl::UnavailableError("connecting took too long");
      break;
    case LinkState::Step::kProbe:
      SendProbe();
      break;
  }
  ArmTimer();
}

void Link::ArmTimer() {
  MonotonicTime wake = state_.next_wake();
  if (state_.phase() == LinkState::Phase::kReady && !options_.probe.has_value())
    wake = MonotonicTime::max();
  timer_.expires_at(wake);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Tick();
  });
}

void Link::StartAttempt() {
  ConnectionOptions connection = options_.connection;
  connection.pooled = connection.pooled || pooler_seen_;
  connection.first_host = state_.attempts_failed();
  attempt_ = options_.make ? options_.make(connection) : Connection::Make(loop_, connection);
  attempt_->Connect(
      [this, attempt = attempt_](const ConnectReply& reply) {
        if (attempt == attempt_) EndAttempt(std::exchange(attempt_, nullptr), reply);
      },
      [this, attempt = std::weak_ptr<Connection>(attempt_)](const ServerError& error) {
        if (ready_ != nullptr && attempt.lock() == ready_) {
          ready_ = nullptr;
          usable_ = false;
          LostReady(error.message);
        }
      });
}

void Link::EndAttempt(const std::shared_ptr<Connection>& connection, const ConnectReply& reply) {
  if (stopped_) {
    connection->Close();
    return;
  }
  // A database that does not fit says so better than the error of a statement that needed it to.
  const bool asked = reply.facts.server_version != 0;
  const SessionVerdict verdict =
      asked ? CheckSession(reply.facts, options_.needs) : SessionVerdict();
  if (!verdict.refusals.empty()) {
    connection->Close();
    AttemptFailed(absl::StrJoin(verdict.refusals, "; "), verdict.lasting);
    return;
  }
  if (reply.error.has_value()) {
    if (!pooler_seen_ && IsRefusedStartupParameter(*reply.error)) {
      pooler_seen_ = true;
      AttemptFailed("a connection pooler is in between; going on without settings of the session",
                    false);
      return;
    }
    const bool lasting =
        IsLastingRefusal(*reply.error) || (asked && Classify(*reply.error) == ErrorClass::kMisfit);
    AttemptFailed(reply.error->message, lasting);
    return;
  }
  if (const std::optional<std::string> veto =
          options_.veto ? options_.veto(reply.facts) : std::nullopt;
      veto.has_value()) {
    connection->Close();
    AttemptFailed(*veto, false);
    return;
  }
  for (const std::string& warning : verdict.warnings)
    if (options_.say) options_.say(absl::StrCat(options_.name, ": ", warning));
  ++stats_.connected;
  ready_ = connection;
  usable_ = true;
  facts_ = reply.facts;
  status_ = absl::OkStatus();
  lasting_ = false;
  state_.Ready(Now());
  ArmTimer();
  if (options_.changed) options_.changed();
  owner_.LinkReady(*this);
}

void Link::AttemptFailed(const std::string& why, bool lasting) {
  ++(lasting ? stats_.refused : stats_.failed);
  Failed(why, lasting);
}

void Link::Failed(const std::string& why, bool lasting) {
  const bool news = status_.message() != why;
  status_ = absl::UnavailableError(why);
  lasting_ = lasting;
  state_.Lost(Now());
  if (news && options_.say) options_.say(absl::StrCat(options_.name, ": ", why));
  if (options_.changed) options_.changed();
  ArmTimer();
}

void Link::LostReady(const std::string& why) {
  if (stopped_) return;
  ++stats_.lost;
  Failed(absl::StrCat("connection lost: ", why), false);
  owner_.LinkDown(*this);
}

void Link::DropIfUnanswered(MonotonicTime now, absl::Duration limit) {
  if (ready_ == nullptr || units_open_ == 0) return;
  if (Between(waits_since_, now) <= limit || Between(heard(), now) <= limit) return;
  Drop("an answer did not come");
}

void Link::Send(std::vector<StatementCall> calls, Connection::UnitDone done) {
  if (units_open_++ == 0) waits_since_ = Now();
  ready_->Send(std::move(calls), [this, connection = std::weak_ptr<Connection>(ready_),
                                  done = std::move(done)](UnitReply reply) mutable {
    --units_open_;
    waits_since_ = Now();
    const bool current = ready_ != nullptr && connection.lock() == ready_;
    const bool useless = reply.fate != UnitFate::kCommitted &&
                         Classify(reply.error) == ErrorClass::kConnectionUseless;
    // Who is told that a unit failed must not send the next one down the same hole.
    if (current && useless) usable_ = false;
    // After a fatal error the connection goes by itself, and says so.
    const bool drop = current && useless && !reply.error.fatal;
    const std::string why = reply.error.message;
    done(std::move(reply));
    if (drop && ready_ != nullptr && connection.lock() == ready_) Drop(why);
  });
}

void Link::Drop(const std::string& why) {
  usable_ = false;
  std::exchange(ready_, nullptr)->Close();
  // After the units of the closed connection have ended.
  asio::post(loop_, [this, why] { LostReady(why); });
}

void Link::GiveUp(const std::string& why) {
  if (ready_ != nullptr) Drop(why);
}

void Link::SendProbe() {
  if (!usable_ || !options_.probe.has_value()) return;
  const MonotonicTime sent = Now();
  state_.ProbeSent(sent);
  Send({*options_.probe}, [this, sent, connection = ready_](const UnitReply& reply) {
    if (connection != ready_) return;
    state_.ProbeAnswered(Now());
    if (reply.fate == UnitFate::kCommitted && options_.probed) {
      const std::optional<std::string> why = options_.probed(reply.tables[0], sent);
      if (why.has_value()) {
        // It may have been given up from inside.
        if (connection == ready_) Drop(*why);
        return;
      }
    }
    ArmTimer();
  });
}

}  // namespace counter::postgres
