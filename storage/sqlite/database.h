// Database and Statement: SQLite as the embedded store sees it. The only files that include
// sqlite3.h are these two.
//
// Use them from the classes of this folder alone. They translate result codes into DatabaseCode,
// once; they know nothing of likes.
//
// Threads: a Database and its Statements are for one thread at a time.
// Ownership: a Statement borrows its Database, which must outlive it.
#ifndef COUNTER_STORAGE_SQLITE_DATABASE_H_
#define COUNTER_STORAGE_SQLITE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace counter::sqlite {

enum class DatabaseCode {
  kOk,           // Done; or, from Statement::Step, no further row.
  kRow,          // Statement::Step: a row is there.
  kBusy,         // Another connection holds a lock that is needed. Nothing was done.
  kConstraint,   // A row breaks a rule of the schema. The statement had no effect.
  kFull,         // The disk, or the file's limit, is full.
  kIoError,      // The disk failed, but not in a flush.
  kFlushFailed,  // A flush failed: what was being flushed may or may not be on disk.
  kOther,        // A damaged file, no memory, or a fault of ours.
};

class Database {
 public:
  enum class Use { kWrite, kRead };

  // Opens the file, which is made if `use` is kWrite and it is not there. A writer's file is put in
  // WAL mode, its commits are flushed before they return, and it never checkpoints by itself.
  // Null with a text for the operator in `error` if it cannot be opened.
  static std::unique_ptr<Database> Open(const std::string& path, Use use, int page_cache_kib,
                                        std::string& error);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements without parameters that give no rows.
  DatabaseCode Execute(const char* sql);

  // Rows that the last INSERT, UPDATE or DELETE changed.
  int64_t changed_rows() const;
  bool in_transaction() const;
  // SQLite's words for what went wrong last, for operators only.
  std::string LastError() const;

  // Pages in the write-ahead log after the last commit of this connection.
  int wal_pages() const { return wal_pages_; }
  // Copies the log into the file. With `restart` it waits a little for readers of old snapshots, so
  // that the log can start again from its beginning.
  DatabaseCode Checkpoint(bool restart);

 private:
  friend class Statement;
  explicit Database(sqlite3* handle) : handle_(handle) {}
  bool Configure(Use use, int page_cache_kib);

  sqlite3* const handle_;
  int wal_pages_ = 0;
};

class Statement {
 public:
  // Requires that the SQL is right for the database's schema, else every Step is kOther.
  Statement(Database& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Sets the parameters ?1, ?2, ... and makes the statement ready for Step.
  template <class... Values>
  void Bind(Values... values) {
    Reset();
    int index = 0;
    (BindOne(++index, values), ...);
  }
  DatabaseCode Step();
  // Of the row that Step found. Columns count from 0.
  int64_t Int(int column) const;
  std::string Text(int column) const;
  // Ends the statement's use of the database. Step does so itself unless it answers kRow.
  void Reset();

  // Bind, Step, and Reset: for statements that give no rows.
  template <class... Values>
  DatabaseCode Run(Values... values) {
    Bind(values...);
    return Step();
  }

 private:
  void BindOne(int index, int64_t value);
  void BindOne(int index, absl::string_view value);

  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace counter::sqlite

#endif  // COUNTER_STORAGE_SQLITE_DATABASE_H_
