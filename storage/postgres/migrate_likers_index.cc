#include "storage/postgres/migrate_likers_index.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/postgres/list_statements.h"
#include "storage/postgres/migration_session.h"

namespace counter::postgres {
namespace {

// "cnti" in ASCII. It is tried again and again: who waited for it inside a statement would hold a
// snapshot, and the index is not complete before all older snapshots are gone.
constexpr absl::string_view kTryLock = "SELECT pg_try_advisory_lock(1668183145)::int4";
constexpr absl::Duration kBetweenTries = absl::Milliseconds(100);

absl::Status TakeTurns(MigrationSession& session, absl::Duration patience) {
  const absl::Time until = absl::Now() + patience;
  while (true) {
    const absl::StatusOr<int64_t> locked = session.Int(kTryLock);
    if (!locked.ok()) return locked.status();
    if (*locked == 1) return absl::OkStatus();
    if (absl::Now() >= until)
      return absl::DeadlineExceededError("another counterd migrate makes the index of likers");
    absl::SleepFor(kBetweenTries);
  }
}

enum class IndexState { kAbsent, kIncomplete, kThere };

absl::StatusOr<IndexState> StateOf(MigrationSession& session, ItemType type) {
  const absl::StatusOr<int64_t> state = session.Int(
      absl::StrCat("SELECT CASE WHEN ", LikersIndexIsValid(type), " THEN 2 WHEN to_regclass('",
                   LikersIndexName(type), "') IS NULL THEN 0 ELSE 1 END"));
  if (!state.ok()) return state.status();
  return *state == 2   ? IndexState::kThere
         : *state == 1 ? IndexState::kIncomplete
                       : IndexState::kAbsent;
}

absl::Status MakeOne(MigrationSession& session, ItemType type, std::vector<std::string>& done) {
  const std::string name = LikersIndexName(type);
  const std::string drop = absl::StrCat("DROP INDEX CONCURRENTLY IF EXISTS ", name);
  const absl::StatusOr<IndexState> state = StateOf(session, type);
  if (!state.ok()) return state.status();
  if (*state == IndexState::kThere) return absl::OkStatus();
  if (*state == IndexState::kIncomplete) {
    absl::Status dropped = session.Run(drop).status();
    if (!dropped.ok()) return dropped;
    done.push_back(
        absl::StrCat("removed the incomplete index of likers of item type ", type.value));
  }
  const absl::Status made = session
                                .Run(absl::StrCat("CREATE INDEX CONCURRENTLY ", name, " ON ",
                                                  PartitionName(type), " (item_id, created_at)"))
                                .status();
  if (!made.ok()) {
    // What is left of it would cost each like as much as a complete one.
    session.Run(drop).IgnoreError();
    return absl::UnavailableError(
        absl::StrCat("the index of likers of item type ", type.value, ": ", made.message()));
  }
  done.push_back(absl::StrCat("made the index of likers of item type ", type.value));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MakeLikersIndex(const std::string& url,
                                                         const std::vector<ItemType>& item_types,
                                                         absl::Duration patience) {
  const absl::StatusOr<std::unique_ptr<MigrationSession>> opened =
      MigrationSession::Open(url, absl::Minutes(1));
  if (!opened.ok()) return opened.status();
  MigrationSession& session = **opened;
  if (session.pooled())
    return absl::FailedPreconditionError(
        "the index of likers cannot be made through a connection pooler; give the address of the "
        "server itself");
  absl::Status status = TakeTurns(session, patience);
  // A table of any size is sorted, and every transaction that is open now is waited for.
  if (status.ok()) status = session.Run("SET statement_timeout = 0").status();
  if (status.ok()) status = session.Run("SET lock_timeout = 0").status();
  std::vector<std::string> done;
  for (const ItemType type : item_types)
    if (status.ok()) status = MakeOne(session, type, done);
  if (!status.ok()) return status;
  return done;
}

absl::StatusOr<std::vector<int64_t>> TypesWithoutLikersIndex(
    const std::string& url, const std::vector<ItemType>& item_types) {
  const absl::StatusOr<std::unique_ptr<MigrationSession>> session =
      MigrationSession::Open(url, absl::Seconds(10));
  if (!session.ok()) return session.status();
  std::vector<int64_t> missing;
  for (const ItemType type : item_types) {
    const absl::StatusOr<IndexState> state = StateOf(**session, type);
    if (!state.ok()) return state.status();
    if (*state != IndexState::kThere) missing.push_back(type.value);
  }
  return missing;
}

}  // namespace counter::postgres
