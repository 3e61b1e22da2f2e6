#include "storage/postgres/migrate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "storage/postgres/migration_session.h"
#include "storage/postgres/session_check.h"

namespace counter::postgres {
namespace {

// "cntr" in ASCII: the key of the advisory lock. Locks of other programs on the database have other
// keys.
constexpr absl::string_view kTakeTurns = "SELECT pg_advisory_xact_lock(1668183154)";

// Runs the statements in one transaction, alone on the database as far as migrations go.
template <class Body>
absl::Status Alone(MigrationSession& session, Body body) {
  absl::Status status = session.Run("BEGIN").status();
  if (status.ok()) status = session.Run(kTakeTurns).status();
  if (status.ok()) status = body();
  // A transaction that failed ends with the connection.
  return status.ok() ? session.Run("COMMIT").status() : status;
}

constexpr absl::string_view kMakeNotes =
    "CREATE TABLE IF NOT EXISTS counter_migrations (number int8 PRIMARY KEY, name text NOT NULL, "
    "applied_at timestamptz NOT NULL DEFAULT now())";

absl::StatusOr<int64_t> Applied(MigrationSession& session) {
  return session.Int("SELECT coalesce(max(number), 0)::int8 FROM counter_migrations");
}

absl::Status Apply(MigrationSession& session, const Migration& migration) {
  for (const std::string& statement : SplitStatements(migration.sql)) {
    const absl::Status status = session.Run(statement).status();
    if (!status.ok())
      return absl::InternalError(
          absl::StrCat("migration ", migration.name, ": ", status.message()));
  }
  return session
      .Run(absl::StrCat("INSERT INTO counter_migrations (number, name) VALUES (", migration.number,
                        ", '", migration.name, "')"))
      .status();
}

absl::StatusOr<std::vector<int64_t>> TypesMissing(MigrationSession& session,
                                                  const std::vector<ItemType>& item_types) {
  std::vector<int64_t> missing;
  for (const ItemType type : item_types) {
    const absl::StatusOr<int64_t> found = session.Int(
        absl::StrCat("SELECT count(*) FROM pg_inherits WHERE inhparent = 'user_likes'::regclass "
                     "AND inhrelid = to_regclass('user_likes_",
                     type.value, "')"));
    if (!found.ok()) return found.status();
    if (*found == 0) missing.push_back(type.value);
  }
  return missing;
}

absl::Status MakePartitions(MigrationSession& session, const std::vector<ItemType>& item_types,
                            std::vector<std::string>& done) {
  const absl::StatusOr<std::vector<int64_t>> missing = TypesMissing(session, item_types);
  if (!missing.ok()) return missing.status();
  for (const int64_t type : *missing) {
    // The user first, so that which of a page of items a user likes stays on few pages.
    const absl::Status made =
        session
            .Run(absl::StrCat("CREATE TABLE user_likes_", type,
                              " PARTITION OF user_likes (PRIMARY KEY (user_id, item_id)) "
                              "FOR VALUES IN (",
                              type, ")"))
            .status();
    if (!made.ok()) return made;
    done.push_back(absl::StrCat("made the partition of item type ", type));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t MigrationHead() { return Migrations().back().number; }

std::vector<std::string> SplitStatements(const std::string& sql) {
  std::vector<std::string> statements;
  std::string statement;
  bool complete = false;
  const auto end = [&] {
    if (!absl::StripAsciiWhitespace(statement).empty()) statements.push_back(statement);
    statement.clear();
    complete = false;
  };
  for (const absl::string_view line : absl::StrSplit(sql, '\n')) {
    const absl::string_view text = absl::StripTrailingAsciiWhitespace(line);
    if (text.empty() && complete) end();
    if (!absl::StartsWith(text, "--") && !text.empty()) {
      absl::StrAppend(&statement, text, "\n");
      complete = absl::EndsWith(text, ";");
    }
  }
  end();
  return statements;
}

absl::StatusOr<MigrationStatus> ReadMigrationStatus(const std::string& url,
                                                    const std::vector<ItemType>& item_types) {
  const absl::StatusOr<std::unique_ptr<MigrationSession>> session =
      MigrationSession::Open(url, absl::Seconds(10));
  if (!session.ok()) return session.status();
  MigrationStatus status;
  status.head = MigrationHead();
  const SessionFacts& facts = (*session)->facts();
  status.applied = facts.migration;
  for (const Migration& migration : Migrations())
    if (migration.number > status.applied) status.pending.push_back(migration.name);
  for (const ItemType type : item_types) {
    if (std::find(facts.item_types.begin(), facts.item_types.end(), type.value) ==
        facts.item_types.end()) {
      status.types_missing.push_back(type.value);
    }
  }
  return status;
}

absl::StatusOr<std::vector<std::string>> MigrateUp(const std::string& url,
                                                   const std::vector<ItemType>& item_types,
                                                   absl::Duration patience) {
  const absl::StatusOr<std::unique_ptr<MigrationSession>> opened =
      MigrationSession::Open(url, patience);
  if (!opened.ok()) return opened.status();
  MigrationSession& session = **opened;
  std::vector<std::string> done;
  absl::Status status = Alone(session, [&] { return session.Run(kMakeNotes).status(); });
  for (const Migration& migration : Migrations()) {
    if (!status.ok()) return status;
    status = Alone(session, [&]() -> absl::Status {
      const absl::StatusOr<int64_t> applied = Applied(session);
      if (!applied.ok()) return applied.status();
      if (*applied >= migration.number) return absl::OkStatus();
      done.push_back(absl::StrCat("applied ", migration.name));
      return Apply(session, migration);
    });
  }
  if (status.ok())
    status = Alone(session, [&] { return MakePartitions(session, item_types, done); });
  if (!status.ok()) return status;
  return done;
}

}  // namespace counter::postgres
