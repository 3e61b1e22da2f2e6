#include "tests/storage/replicated_postgres.h"

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/storage/postgres_fixture.h"

namespace counter::testing {

ReplicatedPostgres::ReplicatedPostgres(const Options& options) {
  PostgresServer::Options primary;
  // Room for a standby that was away.
  primary.settings["wal_keep_size"] = "'256MB'";
  for (const auto& [name, value] : options.primary_settings) primary.settings[name] = value;
  auto started = PostgresServer::Start(primary);
  INFO(started.status());
  REQUIRE(started.ok());
  primary_ = *std::move(started);
  const std::string url = MigratedDatabase(*primary_);
  const size_t name = url.find("dbname=") + 7;
  database_ = url.substr(name, url.find(' ', name) - name);
  PostgresServer::Options standby;
  standby.settings["wal_keep_size"] = "'256MB'";
  for (const auto& [setting, value] : options.standby_settings) standby.settings[setting] = value;
  for (int i = 0; i < options.standbys; ++i) {
    auto copied = PostgresServer::StartStandby(*primary_, StandbyName(i), standby);
    INFO(copied.status());
    REQUIRE(copied.ok());
    standbys_.push_back(*std::move(copied));
  }
  if (options.synchronous) {
    Sql(*primary_,
        absl::StrCat("ALTER SYSTEM SET synchronous_standby_names = '", StandbyName(0), "'"));
    REQUIRE(primary_->Reload().ok());
  }
}

std::string ReplicatedPostgres::UrlOfAll() const {
  std::string hosts = primary_->socket_directory();
  for (const auto& standby : standbys_) absl::StrAppend(&hosts, ",", standby->socket_directory());
  return absl::StrCat("host=", hosts, " dbname=", database_, " user=postgres");
}

std::string ReplicatedPostgres::Sql(const PostgresServer& server, const std::string& sql) const {
  const auto answer = server.Psql(UrlAt(server), sql);
  INFO(sql << ": " << answer.status());
  REQUIRE(answer.ok());
  return *answer;
}

}  // namespace counter::testing
