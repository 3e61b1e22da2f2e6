// What tests of the store on a real PostgreSQL share: one server a test program, a database a case,
// and short words for the store's calls.
//
// Threads: Like, Unlike and the other calls from any; the rest from the test's thread.
#ifndef COUNTER_TESTS_STORAGE_POSTGRES_FIXTURE_H_
#define COUNTER_TESTS_STORAGE_POSTGRES_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like_store.h"
#include "storage/postgres/store.h"
#include "tests/support/postgres_server.h"
#include "tests/support/process.h"

namespace counter::testing {

inline constexpr ItemType kPost{1};
inline constexpr ItemType kReel{2};
std::vector<ItemType> TestTypes();

// The program's server, started at the first call. Ends the test if it cannot be.
PostgresServer& SharedPostgres();

// A new migrated database on `server`; its URL.
std::string MigratedDatabase(PostgresServer& server);
inline std::string MigratedDatabase() { return MigratedDatabase(SharedPostgres()); }

postgres::StoreOptions TestStoreOptions(const std::string& url);
// Ends the test if it cannot be opened.
std::unique_ptr<postgres::PostgresStore> OpenTestStore(const postgres::StoreOptions& options);
inline std::unique_ptr<postgres::PostgresStore> OpenTestStore(const std::string& url) {
  return OpenTestStore(TestStoreOptions(url));
}

CallLimits Within(absl::Duration duration);

absl::StatusOr<Applied> ApplyOne(LikeStore& store, const Mutation& mutation,
                                 absl::Duration within = absl::Seconds(20));
absl::StatusOr<Applied> Like(LikeStore& store, int64_t user, int64_t item,
                             absl::Duration within = absl::Seconds(20));
absl::StatusOr<Applied> Unlike(LikeStore& store, int64_t user, int64_t item,
                               absl::Duration within = absl::Seconds(20));
Mutation LikeOf(int64_t user, int64_t item);
Mutation UnlikeOf(int64_t user, int64_t item);
absl::StatusOr<ItemCount> CountOf(LikeStore& store, int64_t item,
                                  absl::Duration within = absl::Seconds(20));

// Fails the case unless counts and digests equal the likes that are stored, and the server's log
// names no deadlock and no misuse.
void RequireSound(LikeStore& store, const PostgresServer& server);

// Audits everything; the findings.
std::vector<AuditFinding> Findings(LikeStore& store);

// psql that takes the counter of `second`, waits until somebody waits for it, and then asks for
// that of `first`. A unit that holds `first` meanwhile and asks for `second` is in a deadlock, and
// its victim, after 200 ms: connections that are made after this was called have so much patience.
// Both items must have been liked. Ends the case unless psql holds `second` when this returns.
Process CauseDeadlock(const PostgresServer& server, const std::string& url, int64_t first,
                      int64_t second);
// Two posts that each server writes in one statement, if they come together: they have one lane.
std::pair<int64_t, int64_t> PostsOfOneLane();

// The worst things that a server's log may say of us: "" if it says none of them. Deadlocks, rows
// touched twice (21000), bad bytes (22021), missing statements (26000).
std::string BadWords(const PostgresServer& server);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_POSTGRES_FIXTURE_H_
