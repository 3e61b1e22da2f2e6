// Connection: one connection to PostgreSQL, in pipeline mode, on an Asio loop.
//
// Use it through a Link, which keeps one alive. It waits for the socket and sees to the order of
// things, and decides nothing: what a result belongs to says sent_units.h, what an error means
// sqlstate.h, whether the session is fit session_check.h. libpq is behind driver.h.
//
// - It never blocks its loop: names are resolved by Asio, the socket is read whenever there is
//   something to read, while it writes too, and libpq is asked for a result only when it has one.
// - A unit is sent with a sync behind it and is a transaction. Units may be sent before earlier
//   ones were answered; every one is answered in order, by a reply or by the loss of the link.
// - With a session of its own it sets at the start: synchronous_commit, plan_cache_mode and the
//   limits of time, and prepares the statements. Through a pooler it names no statement and sends
//   the settings with each unit. It notices a pooler by itself where that shows (session_check.h).
//
// Threads: everything on the loop's thread. Callbacks run there, exactly once each, never from
// inside the call that took them. Ownership: shared, because handlers in the loop outlive a
// connection that was given up; Close() when it is no longer wanted.
#ifndef COUNTER_STORAGE_POSTGRES_CONNECTION_H_
#define COUNTER_STORAGE_POSTGRES_CONNECTION_H_

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "base/clock.h"
#include "storage/postgres/connection_options.h"
#include "storage/postgres/sent_units.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/sqlstate.h"
#include "storage/postgres/statement.h"

namespace counter::postgres {

struct ConnectReply {
  std::optional<ServerError> error;  // Absent: connected.
  SessionFacts facts;                // What the session says about itself, if connected.
};

// Whether the text for the driver names more than one host.
bool NamesSeveralHosts(const std::string& conninfo);

class Connection {
 public:
  using ConnectDone = absl::AnyInvocable<void(ConnectReply)>;
  using UnitDone = postgres::UnitDone;
  using Lost = absl::AnyInvocable<void(ServerError)>;

  static std::shared_ptr<Connection> Make(boost::asio::io_context& loop, ConnectionOptions options);
  virtual ~Connection() = default;

  // Connects and asks the session about itself. `lost` is called at most once, after a successful
  // connect, when the link breaks by itself. Call it once.
  virtual void Connect(ConnectDone done, Lost lost) = 0;

  // Sends the statements as one unit. Requires at least one. On a connection that is not, or no
  // longer, connected the unit ends as not run.
  virtual void Send(std::vector<StatementCall> calls, UnitDone done) = 0;

  // Drops the link. What was not answered ends, with the fate that the ledger knows; a connect that
  // has not ended fails. `lost` is not called. May be called again.
  virtual void Close() = 0;

  // Whether nothing can be kept in the session. Requires connected.
  virtual bool pooled() const = 0;
  // When the server was last heard.
  virtual MonotonicTime heard() const = 0;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_CONNECTION_H_
