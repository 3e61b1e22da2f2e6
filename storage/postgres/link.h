// Link: a connection that is kept alive.
//
// Use one for each connection that the store wants to have. It connects, checks the session,
// probes, and connects again when it is lost, as link_state.h decides. It is no pool and no queue:
// who wants to send waits for LinkReady().
//
// Threads: everything on the loop's thread. Ownership: the owner and the loop outlive it, and it
// outlives the run of the loop.
#ifndef COUNTER_STORAGE_POSTGRES_LINK_H_
#define COUNTER_STORAGE_POSTGRES_LINK_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/link_state.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/store_stats.h"

namespace counter::postgres {

class Link {
 public:
  // Who uses the link. Called on the loop's thread, never from inside a call to the link.
  class Owner {
   public:
    virtual ~Owner() = default;
    // A checked session: Send() may be called.
    virtual void LinkReady(Link& link) = 0;
    // It was ready and is not any more. All units that were sent have ended before.
    virtual void LinkDown(Link& link) = 0;
  };

  using Make = std::function<std::shared_ptr<Connection>(const ConnectionOptions&)>;
  struct Options {
    std::string name;  // For operators: "lane 0".
    ConnectionOptions connection;
    SessionNeeds needs;
    LinkState::Limits limits;
    // What to ask every probe_interval; none: nothing. For a link whose statements are short.
    std::optional<StatementCall> probe;
    // What came of it, and when it was sent: why the connection is to be given up, if it is.
    std::function<std::optional<std::string>(const Table& answer, MonotonicTime sent)> probed;
    // Why a session that is fit by itself must not be used; nothing if it may. May be empty.
    std::function<std::optional<std::string>(const SessionFacts& facts)> veto;
    uint64_t seed = 0;
    Make make;  // A test's own connections; else real ones.
    // Tells an operator what happened; called on the loop's thread. May be empty, both.
    std::function<void(const std::string& text)> say;
    // ready() or status() has changed.
    std::function<void()> changed;
  };

  Link(boost::asio::io_context& loop, Options options, Owner& owner);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void Start();
  // Closes. Units end; nobody is called after that. The link cannot be started again.
  void Stop();

  bool ready() const { return usable_; }
  // Whether units may be sent before earlier ones have ended. Requires ready.
  bool pipelined() const { return !ready_->pooled(); }
  // Gives up the connection, if it is ready, and makes another one. Units that were sent end.
  void GiveUp(const std::string& why);
  // Requires ready; afterwards as Connection::Send, but for an error that makes the connection
  // useless: then it is dropped.
  void Send(std::vector<StatementCall> calls, Connection::UnitDone done);

  // How long it has not been ready; zero if it is.
  absl::Duration Unready(MonotonicTime now) const { return state_.Unready(now); }
  // How long the server has been silent although a probe waits; zero if none does.
  absl::Duration Silent(MonotonicTime now) const;
  // Gives the connection up if units wait for answers and nothing has come for longer than `limit`:
  // an answer that was lost on the way comes no more, and nothing else would ever say so.
  void DropIfUnanswered(MonotonicTime now, absl::Duration limit);
  MonotonicTime heard() const { return ready_ == nullptr ? MonotonicTime() : ready_->heard(); }
  bool was_ready() const { return facts_.server_version != 0; }  // Ever.
  // Of the last session that was ready.
  const SessionFacts& facts() const { return facts_; }

  // Why it is not ready, for operators; OK if it is. `lasting`: until somebody changes something.
  const absl::Status& status() const { return status_; }
  bool lasting() const { return lasting_; }
  // For metrics.
  const LinkStats& stats() const { return stats_; }

 private:
  void Tick();
  void ArmTimer();
  void StartAttempt();
  void EndAttempt(const std::shared_ptr<Connection>& connection, const ConnectReply& reply);
  void AttemptFailed(const std::string& why, bool lasting);
  void Failed(const std::string& why, bool lasting);
  void LostReady(const std::string& why);
  void SendProbe();
  // Gives up the ready connection, because it is useless.
  void Drop(const std::string& why);

  boost::asio::io_context& loop_;
  const Options options_;
  Owner& owner_;
  LinkState state_;
  boost::asio::steady_timer timer_;
  int units_open_ = 0;                   // Sent and not ended.
  MonotonicTime waits_since_;            // Since one of them was sent or ended last.
  std::shared_ptr<Connection> attempt_;  // Shared with the loop's handlers, as all connections.
  std::shared_ptr<Connection> ready_;
  bool usable_ = false;  // ready_ is there, and no unit has said that it is not.
  SessionFacts facts_;
  bool pooler_seen_ = false;
  bool stopped_ = false;
  absl::Status status_;
  bool lasting_ = false;
  LinkStats stats_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_LINK_H_
