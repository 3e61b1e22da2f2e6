// What an error of PostgreSQL means for us: the only place that knows SQLSTATE codes.
//
// Use it to decide what to do with a statement that failed, and what to tell its caller. Pure
// functions; thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_SQLSTATE_H_
#define COUNTER_STORAGE_POSTGRES_SQLSTATE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace counter::postgres {

// An error as the server, or the driver, gave it. For operators and for decisions; never shown to a
// caller.
struct ServerError {
  std::string
      sqlstate;        // Five characters; empty when the driver itself made the error (link lost).
  bool fatal = false;  // The server ends the connection with it (FATAL, PANIC).
  std::string message;
};

enum class ErrorClass {
  // May pass at once: a deadlock, a serialization failure. Try again.
  kTransient,
  // A lock or the statement did not come to its end in time. Try again, in smaller pieces.
  kTimeout,
  // The server goes, comes, is full, or is a standby now: this connection is of no use any more.
  // Try again on a new one.
  kConnectionUseless,
  // Something in the data was refused: find out which row, and refuse only that.
  kRejected,
  // Out of disk, of memory, an I/O error: the server is in trouble; a caller may try again later.
  kOutOfResources,
  // Our statements and the database do not fit together: a missing table, a missing right.
  kMisfit,
};

ErrorClass Classify(const ServerError& error);

// The code in the driver's verbose text of an error, as "FATAL:  28P01: password ..."; empty if
// there is none.
std::string SqlstateInText(absl::string_view text);

// Whether a new connection that fails so will go on failing until somebody changes something: a
// wrong password, a missing database. A server that starts, stops or is full is not.
bool IsLastingRefusal(const ServerError& error);

// Whether the server did not know a parameter of the start: a connection pooler in between.
bool IsRefusedStartupParameter(const ServerError& error);

// What a caller is told. Not marked as not applied: only who knows what was sent can say.
absl::Status ToStatus(const ServerError& error);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_SQLSTATE_H_
