// StoreOptions: what a PostgresStore is made of.
//
// A value.
#ifndef COUNTER_STORAGE_POSTGRES_STORE_OPTIONS_H_
#define COUNTER_STORAGE_POSTGRES_STORE_OPTIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "storage/durability.h"
#include "storage/like.h"
#include "storage/store_observer.h"

namespace counter::postgres {

struct StoreOptions {
  // postgresql://user:password@host/database?pgbouncer=true; see database_url.h.
  std::string url;
  std::vector<ItemType> item_types;  // Each must have been migrated.
  // Standbys of the primary that may answer reads of kCached, one URL each.
  std::vector<std::string> replica_urls;
  absl::Duration replica_lag_max = absl::Seconds(1);  // How old such an answer may be.
  // How long such a read waits for a replica before the primary is asked.
  absl::Duration replica_patience = absl::Milliseconds(100);
  Durability durability = Durability::kLocal;
  std::string application_name = "counterd";

  int lanes = 2;                // Connections that write.
  int batch_rows_max = 300;     // Of one statement.
  int units_in_flight_max = 2;  // Of one lane.
  int mutations_max = 100'000;  // Taken and not ended, of one lane.
  // How long a write may wait: as QueuePatience.
  absl::Duration write_wait_max = absl::InfiniteDuration();
  int reads_max = 10'000;       // Taken and not ended.
  int read_keys_max = 200'000;  // Of them, of each kind of read.

  absl::Duration statement_timeout = absl::Seconds(5);
  absl::Duration lock_timeout = absl::Seconds(1);
  absl::Duration audit_timeout = absl::Minutes(30);
  int audits_max = 16;       // Taken and not ended; the same of calls to the outbox.
  int list_connections = 2;  // Opened when the first list is asked for.
  int lists_max = 1'000;     // Taken and not ended, of one of these.
  absl::Duration tcp_timeout = absl::Seconds(5);
  absl::Duration unavailable_after = absl::Seconds(1);
  // How long Open() waits for the first connections.
  absl::Duration open_wait = absl::Seconds(5);

  // Tells an operator what happened; called on the store's thread. May be empty.
  std::function<void(const std::string& text)> say;
  // Told of the store's work. May be null; must outlive the store.
  StoreObserver* observer = nullptr;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STORE_OPTIONS_H_
