// StoreStats: what a PostgresStore has done, for metrics; and the parts of it that its rooms count.
//
// Values. All numbers only rise, unless they say "now".
#ifndef COUNTER_STORAGE_POSTGRES_STORE_STATS_H_
#define COUNTER_STORAGE_POSTGRES_STORE_STATS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "storage/postgres/sqlstate.h"

namespace counter::postgres {

// Statements that were given out again, by what their former run met.
struct RetryStats {
  int64_t conflict = 0;    // A deadlock or a serialization failure: 40P01, 40001.
  int64_t timeout = 0;     // A lock or the statement was not in time: 55P03, 57014.
  int64_t connection = 0;  // The server went, came or was full, or the link broke: 57P01, 08xxx ...

  void Count(ErrorClass met) {
    ++(met == ErrorClass::kTransient ? conflict
       : met == ErrorClass::kTimeout ? timeout
                                     : connection);
  }
  void Add(const RetryStats& other) {
    conflict += other.conflict;
    timeout += other.timeout;
    connection += other.connection;
  }
  int64_t total() const { return conflict + timeout + connection; }
};

// What became of attempts to connect, and of the connections that were made.
struct LinkStats {
  int64_t connected = 0;
  int64_t failed = 0;     // Nobody there, not yet, or no more room: what passes by itself.
  int64_t refused = 0;    // Until somebody changes something: a password, the schema, a setting.
  int64_t timed_out = 0;  // Did not come to an end in time.
  int64_t lost = 0;       // Ready connections that broke.

  void Add(const LinkStats& other) {
    connected += other.connected;
    failed += other.failed;
    refused += other.refused;
    timed_out += other.timed_out;
    lost += other.lost;
  }
};

// Of one replica.
struct ReplicaStats {
  int64_t statements = 0;
  int64_t keys_answered = 0;
  int64_t keys_behind = 0;            // It was further behind than it may be.
  int64_t keys_failed = 0;            // The statement was cancelled or the connection broke.
  int64_t keys_timed_out = 0;         // It did not answer in time.
  int64_t rests = 0;                  // How often it was left alone for a while.
  bool usable = false;                // Now, as the next two.
  std::optional<absl::Duration> lag;  // Nothing if it is not known.
};

struct StoreStats {
  // Writes.
  int64_t units = 0;      // Transactions that wrote.
  int64_t rows = 0;       // In them.
  int64_t mutations = 0;  // That those rows answered.
  RetryStats write_retries;
  int64_t bisected = 0;  // Units that were rolled back and given out again in halves.
  int64_t refused = 0;   // Units of one row that the server did not take.
  // Mutations whose deadline came, or whose caller went, before they were sent.
  int64_t dropped = 0;

  // Reads.
  int64_t read_statements = 0;
  int64_t read_keys_asked = 0;  // By callers.
  int64_t read_keys_read = 0;   // From the database.
  RetryStats read_retries;
  int64_t read_keys_waiting = 0;  // Now.

  // Connections.
  LinkStats links;
  int64_t links_ready = 0;  // Now.
  int64_t failovers = 0;    // Another timeline of the same cluster was met.

  std::vector<ReplicaStats> replicas;  // In the order of the options.
  int64_t keys_older_than_token = 0;   // A replica had them in a version older than asked for.
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STORE_STATS_H_
