#include "storage/sqlite/schema.h"

#include <random>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace counter::sqlite {
namespace {

constexpr char kSchemaVersion[] = "1";

// The type comes first in the key, so that each type is a range of its own; then the user, so that
// "which of these items does this user like" stays on few pages.
constexpr char kTables[] = R"(
CREATE TABLE user_likes(
  user_id INTEGER NOT NULL,
  item_id INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  item_type INTEGER NOT NULL,
  PRIMARY KEY(item_type, user_id, item_id)) WITHOUT ROWID, STRICT;
CREATE TABLE counters(
  item_type INTEGER NOT NULL,
  item_id INTEGER NOT NULL,
  count INTEGER NOT NULL CHECK(count >= 0),
  version INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  PRIMARY KEY(item_type, item_id)) WITHOUT ROWID, STRICT;
CREATE TABLE meta(
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL) WITHOUT ROWID, STRICT;
)";

// 20 characters of 32: 100 random bits.
std::string MakeTimeline() {
  constexpr char kLetters[] = "abcdefghijkmnpqrstuvwxyz23456789";
  std::random_device random;
  std::string timeline;
  for (int i = 0; i < 20; ++i) timeline += kLetters[random() % 32];
  return timeline;
}

absl::Status CannotUse(absl::string_view why) {
  return MakeError(ErrorReason::kStoreUnavailable, absl::StrCat("cannot use the data file: ", why));
}

std::string MetaValue(Database& database, absl::string_view name) {
  Statement select(database, "SELECT value FROM meta WHERE name = ?1");
  select.Bind(name);
  std::string value = select.Step() == DatabaseCode::kRow ? select.Text(0) : "";
  select.Reset();
  return value;
}

absl::Status MakeTables(Database& database) {
  if (database.Execute("BEGIN IMMEDIATE") != DatabaseCode::kOk ||
      database.Execute(kTables) != DatabaseCode::kOk) {
    return CannotUse(database.LastError());
  }
  Statement insert(database, "INSERT INTO meta VALUES(?1, ?2)");
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"schema", kSchemaVersion},
                                    {"timeline", MakeTimeline()},
                                    {"probe", "0"}}) {
    if (insert.Run(absl::string_view(name), absl::string_view(value)) != DatabaseCode::kOk) {
      return CannotUse(database.LastError());
    }
  }
  return database.Execute("COMMIT") == DatabaseCode::kOk ? absl::OkStatus()
                                                         : CannotUse(database.LastError());
}

}  // namespace

absl::Status MakeLikersIndex(Database& database) {
  const std::string sql = absl::StrCat("CREATE INDEX IF NOT EXISTS ", kLikersIndex,
                                       " ON user_likes(item_type, item_id, created_at)");
  return database.Execute(sql.c_str()) == DatabaseCode::kOk ? absl::OkStatus()
                                                            : CannotUse(database.LastError());
}

absl::StatusOr<std::string> PrepareSchema(Database& database) {
  Statement tables(database, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'");
  if (tables.Step() != DatabaseCode::kRow) return CannotUse(database.LastError());
  const bool empty = tables.Int(0) == 0;
  tables.Reset();
  if (empty) {
    absl::Status made = MakeTables(database);
    if (!made.ok()) return made;
  }
  const std::string version = MetaValue(database, "schema");
  if (version != kSchemaVersion) {
    return CannotUse(absl::StrCat("expected layout version ", kSchemaVersion, ", found ",
                                  version.empty() ? "a file of another program" : version,
                                  "; use the release that wrote it, or another folder"));
  }
  const std::string timeline = MetaValue(database, "timeline");
  if (timeline.empty()) return CannotUse("it does not name its timeline");
  return timeline;
}

}  // namespace counter::sqlite
