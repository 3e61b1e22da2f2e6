#include "storage/postgres/migration_session.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/postgres/database_url.h"

namespace counter::postgres {

absl::StatusOr<std::unique_ptr<MigrationSession>> MigrationSession::Open(const std::string& url,
                                                                         absl::Duration patience) {
  const absl::StatusOr<DatabaseUrl> parsed = ParseDatabaseUrl(url);
  if (!parsed.ok()) return parsed.status();
  ConnectionOptions options;
  options.conninfo = parsed->conninfo;
  options.pooled = parsed->pooled;
  options.application_name = "counterd migrate";
  options.statement_timeout = patience;
  options.lock_timeout = patience;
  absl::StatusOr<std::unique_ptr<MigrationSession>> session = Try(options);
  if (!session.ok() && absl::StrContains(session.status().message(), "startup parameter")) {
    options.pooled = true;
    session = Try(options);
  }
  return session;
}

absl::StatusOr<std::unique_ptr<MigrationSession>> MigrationSession::Try(
    const ConnectionOptions& options) {
  auto session = std::unique_ptr<MigrationSession>(new MigrationSession(options));
  std::optional<ConnectReply> reply;
  session->connection_->Connect([&reply](ConnectReply got) { reply = std::move(got); },
                                [](const ServerError&) {});
  session->RunUntil(reply);
  if (reply->error.has_value()) return absl::UnavailableError(reply->error->message);
  if (reply->facts.in_recovery || reply->facts.read_only)
    return absl::FailedPreconditionError(
        "the server is a standby or read-only; migrate the primary");
  session->facts_ = reply->facts;
  return session;
}

MigrationSession::~MigrationSession() {
  connection_->Close();
  loop_.restart();
  loop_.run();
}

absl::StatusOr<Table> MigrationSession::Run(absl::string_view sql) {
  const std::string text(sql);
  const Statement statement = {"", text.c_str(), {}, false};
  std::optional<UnitReply> reply;
  connection_->Send({{&statement, {}}}, [&reply](UnitReply got) { reply = std::move(got); });
  RunUntil(reply);
  if (reply->fate != UnitFate::kCommitted)
    return absl::UnavailableError(
        absl::StrCat(reply->error.message, " (SQLSTATE ", reply->error.sqlstate, ")"));
  return std::move(reply->tables[0]);
}

absl::StatusOr<int64_t> MigrationSession::Int(absl::string_view sql) {
  const absl::StatusOr<Table> table = Run(sql);
  if (!table.ok()) return table.status();
  if (table->rows() != 1 || table->columns() != 1)
    return absl::InternalError("one value was expected");
  return DecodeInt(table->Cell(0, 0)).value_or(0);
}

}  // namespace counter::postgres
