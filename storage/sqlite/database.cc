#include "storage/sqlite/database.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"

namespace counter::sqlite {
namespace {

// How long opening waits for another process's lock.
constexpr int kOpenBusyWaitMs = 5000;
// How long one step waits for another process's lock before it says kBusy; the store decides about
// trying again.
constexpr int kBusyWaitMs = 10;
// After a restart the log keeps this much of its file, so that it need not grow anew.
constexpr int kKeptLogBytes = 64 << 20;

DatabaseCode Translate(int code) {
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) {
    return DatabaseCode::kFlushFailed;
  }
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
      return DatabaseCode::kOk;
    case SQLITE_ROW:
      return DatabaseCode::kRow;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return DatabaseCode::kBusy;
    case SQLITE_CONSTRAINT:
      return DatabaseCode::kConstraint;
    case SQLITE_FULL:
      return DatabaseCode::kFull;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      return DatabaseCode::kIoError;
    default:
      return DatabaseCode::kOther;
  }
}

}  // namespace

std::unique_ptr<Database> Database::Open(const std::string& path, Use use, int page_cache_kib,
                                         std::string& error) {
  // Readers open for writing too: the first one after a crash has to recover the log.
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (use == Use::kWrite) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  sqlite3_busy_timeout(handle, kOpenBusyWaitMs);
  if (code != SQLITE_OK || !database->Configure(use, page_cache_kib)) {
    error = database->LastError();
    return nullptr;
  }
  sqlite3_busy_timeout(handle, kBusyWaitMs);
  return database;
}

bool Database::Configure(Use use, int page_cache_kib) {
  bool configured =
      Execute(absl::StrCat("PRAGMA cache_size = -", page_cache_kib).c_str()) == DatabaseCode::kOk &&
      Execute("PRAGMA temp_store = MEMORY") == DatabaseCode::kOk;
  if (use == Use::kRead) {
    return configured && Execute("PRAGMA query_only = ON") == DatabaseCode::kOk;
  }
  configured = configured && Execute("PRAGMA synchronous = FULL") == DatabaseCode::kOk &&
               Execute(absl::StrCat("PRAGMA journal_size_limit = ", kKeptLogBytes).c_str()) ==
                   DatabaseCode::kOk;
  if (!configured) return false;
  Statement wal(*this, "PRAGMA journal_mode = WAL");
  if (wal.Step() != DatabaseCode::kRow || wal.Text(0) != "wal") return false;
  // Takes the place of SQLite's own hook, which checkpoints and keeps the result to itself.
  auto note = [](void* pages, sqlite3*, const char*, int now) {
    *static_cast<int*>(pages) = now;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle_, note, &wal_pages_);
  return true;
}

Database::~Database() { sqlite3_close_v2(handle_); }

DatabaseCode Database::Execute(const char* sql) {
  return Translate(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

int64_t Database::changed_rows() const { return sqlite3_changes64(handle_); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

std::string Database::LastError() const {
  return handle_ == nullptr ? "no memory" : sqlite3_errmsg(handle_);
}

DatabaseCode Database::Checkpoint(bool restart) {
  const int mode = restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
  return Translate(sqlite3_wal_checkpoint_v2(handle_, nullptr, mode, nullptr, nullptr));
}

Statement::Statement(Database& database, const char* sql) {
  sqlite3_prepare_v3(database.handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

DatabaseCode Statement::Step() {
  if (handle_ == nullptr) return DatabaseCode::kOther;
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return DatabaseCode::kRow;
  sqlite3_reset(handle_);
  return Translate(code);
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(handle_, column); }

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  const int bytes = sqlite3_column_bytes(handle_, column);
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), bytes);
}

void Statement::Reset() {
  if (handle_ != nullptr) sqlite3_reset(handle_);
}

void Statement::BindOne(int index, int64_t value) { sqlite3_bind_int64(handle_, index, value); }

void Statement::BindOne(int index, absl::string_view value) {
  sqlite3_bind_text(handle_, index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

}  // namespace counter::sqlite
