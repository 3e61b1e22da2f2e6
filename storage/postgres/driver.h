// Driver: libpq, for one connection in pipeline mode. The only file that knows it.
//
// Use it in the connection, which owns the loop and the ledger: the driver neither waits nor
// decides. It never blocks: ask Take() for answers only when some are due, and call Poll() and
// Receive() when the socket is ready.
//
// Threads: one at a time. Ownership: owns the connection and its socket, which whoever waits for it
// only borrows.
#ifndef COUNTER_STORAGE_POSTGRES_DRIVER_H_
#define COUNTER_STORAGE_POSTGRES_DRIVER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/postgres/pipeline_ledger.h"
#include "storage/postgres/sqlstate.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// An error that the driver, or we in its place, made: no word of the server, so the link is lost.
// A code of the server is found if the text holds one.
ServerError DriverError(absl::string_view message);

class Driver {
 public:
  // libpq's parameters, by name.
  using Parameters = std::map<std::string, std::string>;
  // The error does not quote the text, which may hold a password.
  static absl::StatusOr<Parameters> Parse(const std::string& conninfo);

  enum class Progress { kFailed, kConnected, kWaitToRead, kWaitToWrite };

  struct Answer {
    PipelineLedger::Got got = PipelineLedger::Got::kEndOfStatement;
    bool link_lost = false;  // Nothing was got: the driver's own word.
    Table table;             // Of kRows.
    ServerError error;       // Of kError, kFatalError and of a lost link.
  };

  // `unconfirmed` is called, from inside Take() and Receive(), when the server says that the
  // standby did not confirm the commit whose answer comes next.
  explicit Driver(std::function<void()> unconfirmed);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Begins to connect: wait until the socket can be written, then Poll(). False: see Error().
  bool Start(const Parameters& parameters);
  // Goes on with it. It may close the socket and open another: nobody may wait for it meanwhile.
  Progress Poll();
  // Once connected. False: see Error().
  bool EnterPipeline();

  // Requires Start() was true, here and below.
  int socket() const;
  int backend_pid() const;
  // Whether the link is lost.
  bool broken() const;
  // Why something was false.
  ServerError Error() const;

  // These put into the driver's buffer what Flush() sends. False: see Error(); driver and server
  // are out of step then.
  bool Prepare(const Statement& statement);
  bool Put(const StatementCall& call, bool by_name);
  bool PutSync();

  enum class Flushed { kAll, kWaitToWrite, kFailed };
  Flushed Flush();
  // Reads what has come. False: the link is lost, but answers may have come before.
  bool Receive();
  // The next answer; absent if none has come. Requires that one is due.
  std::optional<Answer> Take();

  // Drops the link. May be called again; nothing else may.
  void Close();
  bool open() const { return link_ != nullptr; }

 private:
  struct Link;

  const std::function<void()> unconfirmed_;
  std::unique_ptr<Link> link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_DRIVER_H_
