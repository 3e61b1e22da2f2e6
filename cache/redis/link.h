// Link: the connection to one server of Redis: its socket, what waits on it, when it is made again.
//
// Use it under the loop of a Connection, which has one for a single Redis and one a node for a
// cluster (servers.h). It reads, writes and keeps time on one socket at a time (session.h); what is
// decided is decided in multiplexer.h (whose reply is this), link_state.h (when to connect, when to
// ask) and greeting.h. It connects, logs in, reconnects with a jittered pause, and never reports an
// error: while it cannot answer, usable() is false and what was asked is answered with nothing, at
// its deadline at the latest.
//
// A server that takes no writes (a read-only replica, one that cannot save) is not used: what it
// holds could grow stale. This is found out by the greeting, by every answer, and by a probe each
// heartbeat.
//
// Threads: the loop's alone. Ownership: shared by who made it and the handlers of its socket and
// timer that are under way, which must find it when they come. It borrows the rest.
#ifndef COUNTER_CACHE_REDIS_LINK_H_
#define COUNTER_CACHE_REDIS_LINK_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "cache/redis/channel.h"
#include "cache/redis/codec.h"
#include "cache/redis/connection_counters.h"
#include "cache/redis/connection_options.h"
#include "cache/redis/greeting.h"
#include "cache/redis/link_state.h"
#include "cache/redis/multiplexer.h"
#include "cache/redis/node.h"
#include "cache/redis/session.h"

namespace counter::redis {

class Link : public std::enable_shared_from_this<Link> {
 public:
  // Who has made it. Called from the loop, never from inside Take, Flush or End.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The greeting went well. Returns why the server is not to be used all the same; empty: it is.
    virtual std::string OnReady(Link& link, const Greeting& greeting) = 0;
    // It is connected to another run of the server's process than the time before, or may be: what
    // that run had acknowledged may be gone.
    virtual void OnNewRun(Link& link) = 0;
    // usable() has changed.
    virtual void OnUsable(Link& link) = 0;
    // It says that the slots of its probe's key are not its own.
    virtual void OnNotOwner(Link& link) = 0;
    // That it is connected, and each time why it is not, but not at every attempt.
    virtual void OnNews(Link& link, absl::string_view what) = 0;
    // Every time why it is not connected.
    virtual void OnTrouble(Link& link, absl::string_view what) = 0;
  };

  struct Surroundings {
    boost::asio::io_context& context;
    const ConnectionOptions& options;
    boost::asio::ssl::context* authorities;  // Null: no TLS.
    ConnectionCounters& counters;            // Of all links of the loop.
    Owner& owner;
  };
  Link(const Surroundings& surroundings, Node node, uint64_t seed);
  ~Link() = default;  // Requires that it was never begun, or that it has ended.
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const Node& node() const { return node_; }

  // Begins to connect. Once.
  void Begin();
  // Ends every request without an answer, and everything else. The owner is told nothing any more.
  void End();

  // Whether it makes sense to ask: it stands, and the breaker is closed.
  bool usable() const { return is_usable_; }
  // Whether it stands.
  bool ready() const { return link_.phase() == Phase::kReady; }

  // Into the ledger, to leave with the next Flush; handed back, without an answer, if there is no
  // room or it is not usable.
  std::optional<Finished> Take(Request request);
  // Writes all that waits, at once or when the write under way has ended.
  void Flush();

  // The key that is written to find out whether the server takes writes.
  void set_probed_key(std::string key) { probed_key_ = std::move(key); }

 private:
  using Phase = LinkState::Phase;
  using SessionPtr = std::shared_ptr<Session>;

  // The life of a connection, in order.
  void BeginAttempt(MonotonicTime now);
  void BeginGreeting(const SessionPtr& session);
  void OnGreeting(const Answer& answer);
  void Break(absl::string_view why);
  void Say(absl::string_view what);

  // Traffic.
  void BeginRead(const SessionPtr& session);
  void OnRead(const SessionPtr& session, absl::string_view bytes);
  void OnReplies(std::vector<Reply> replies);
  void AddOwn(Commands commands, MonotonicTime deadline, absl::AnyInvocable<void(Answer)> done);
  std::optional<Finished> Add(Request request);
  void NoteOpen();

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
  boost::asio::io_context& context_;
  const ConnectionOptions& options_;
  boost::asio::ssl::context* const authorities_;
  ConnectionCounters& counters_;
  Owner& owner_;
  const Node node_;

  boost::asio::steady_timer timer_;
  MonotonicTime armed_at_ = MonotonicTime::max();  // max: not armed.
  Multiplexer multiplexer_;
  LinkState link_;
  Breaker breaker_;
  SessionPtr session_;                 // Null between attempts.
  std::optional<ReplyReader> reader_;  // Of the session.
  MonotonicTime heartbeat_at_ = MonotonicTime::max();
  std::string probed_key_ = ProbedKey();
  std::string last_said_;
  bool is_usable_ = false;

  // What of counters_ is this link's.
  bool counts_as_ready_ = false;
  bool counts_as_breaker_open_ = false;
  int64_t counted_open_ = 0;
  int64_t counted_late_ = 0;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_LINK_H_
