// Whether a new session of PostgreSQL is fit to hold the truth: the promise of design 3.8.
//
// Use it on every new connection. Pure; the facts come from the first statements of a connection.
// Thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_SESSION_CHECK_H_
#define COUNTER_STORAGE_POSTGRES_SESSION_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "storage/durability.h"

namespace counter::postgres {

// What a session is wanted for.
enum class ServerRole : uint8_t {
  kPrimary,  // Writes, and reads that must see them.
  kReplica,  // Reads that may lag.
};

// What a session said about itself.
struct SessionFacts {
  int64_t server_version = 0;  // As PostgreSQL counts: 150020 is 15.20.
  bool in_recovery = false;
  bool read_only = false;  // Transactions start read-only.
  std::string fsync;
  std::string full_page_writes;
  std::string synchronous_commit;
  std::string synchronous_standby_names;
  std::string timeline;             // Of the WAL, 8 hexadecimal digits; empty in recovery.
  std::string system_id;            // Of the cluster, the same in all its copies.
  int64_t checkpoint_timeline = 0;  // Of the last checkpoint; a standby knows no later one.
  bool settings_kept = false;       // What was asked for at the start is in force.
  bool same_backend = false;        // The server process is the one that the driver connected to.
  bool migrated = false;            // There is a table of migrations.
  int64_t migration = 0;            // The number of the last migration applied.
  std::string store_id;
  std::vector<int64_t> item_types;  // Those that have a partition.
};

struct SessionNeeds {
  ServerRole role = ServerRole::kPrimary;
  Durability durability = Durability::kLocal;
  int64_t migration = 0;            // The last one that this binary knows.
  std::vector<int64_t> item_types;  // Those that this server is configured for.
};

struct SessionVerdict {
  // Why the session must not be used, each a sentence for an operator; empty if it may be.
  std::vector<std::string> refusals;
  // It will not do until somebody changes something (as opposed to: until a standby is promoted).
  bool lasting = false;
  // What an operator should know though the session is used.
  std::vector<std::string> warnings;
};

SessionVerdict CheckSession(const SessionFacts& facts, const SessionNeeds& needs);

// A connection pooler that gives a server process for a transaction only stands in between: nothing
// may be kept in a session.
bool BehindPooler(const SessionFacts& facts);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_SESSION_CHECK_H_
