// ConnectionOptions: what one connection to PostgreSQL is made of.
//
// A value. It holds the password: never print it.
#ifndef COUNTER_STORAGE_POSTGRES_CONNECTION_OPTIONS_H_
#define COUNTER_STORAGE_POSTGRES_CONNECTION_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/statement.h"

namespace counter::postgres {

struct ConnectionOptions {
  std::string conninfo;                    // As libpq takes it. Holds the password.
  bool pooled = false;                     // A transaction pooler is in between.
  ServerRole role = ServerRole::kPrimary;  // Of several hosts, one that is this is taken.
  // Of several hosts, which one is tried first, counted around: a host that does not answer would
  // use up the time of every attempt that begins with it.
  int first_host = 0;
  // Prepared at the start, where there is a session to do it in.
  std::vector<const Statement*> statements;
  std::string application_name = "counterd";
  // A commit that was not seen by the standby counts as unknown.
  bool replicated = false;
  absl::Duration statement_timeout = absl::Seconds(5);
  absl::Duration lock_timeout = absl::Seconds(1);
  // How long sent bytes may stay unacknowledged, and an idle peer silent.
  absl::Duration tcp_timeout = absl::Seconds(5);
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_CONNECTION_OPTIONS_H_
