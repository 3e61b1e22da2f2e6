// MigrationSession: a connection that the calling thread waits for.
//
// Use it for migrations and for the optional index. It runs one statement after the other and
// blocks until each has ended. It is not for a server: that one has links and a loop.
//
// For one thread at a time. Ownership: owns its connection, and the loop under it.
#ifndef COUNTER_STORAGE_POSTGRES_MIGRATION_SESSION_H_
#define COUNTER_STORAGE_POSTGRES_MIGRATION_SESSION_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/session_check.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

class MigrationSession {
 public:
  // To a primary. No statement, and no wait for a lock, takes longer than `patience`. The error is
  // in words for an operator, and holds no password; here and below.
  static absl::StatusOr<std::unique_ptr<MigrationSession>> Open(const std::string& url,
                                                                absl::Duration patience);
  ~MigrationSession();
  MigrationSession(const MigrationSession&) = delete;
  MigrationSession& operator=(const MigrationSession&) = delete;

  // Runs one statement in the transaction at hand, or in one of its own.
  absl::StatusOr<Table> Run(absl::string_view sql);
  // One that answers one whole number.
  absl::StatusOr<int64_t> Int(absl::string_view sql);

  const SessionFacts& facts() const { return facts_; }
  // Whether a pooler stands in between, so that nothing can be kept in the session.
  bool pooled() const { return connection_->pooled(); }

 private:
  explicit MigrationSession(const ConnectionOptions& options)
      : connection_(Connection::Make(loop_, options)) {}
  static absl::StatusOr<std::unique_ptr<MigrationSession>> Try(const ConnectionOptions& options);

  template <class T>
  void RunUntil(const std::optional<T>& reply) {
    while (!reply.has_value()) {
      loop_.restart();
      loop_.run_one();
    }
  }

  boost::asio::io_context loop_;
  std::shared_ptr<Connection> connection_;  // Shared with the loop's handlers.
  SessionFacts facts_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_MIGRATION_SESSION_H_
