// ReplicatedPostgres: a real primary with standbys that stream from it, for one case.
//
// Use it where a failover or a replica is tested. It fails the case (REQUIRE) if something cannot
// be started: call it on the test's thread. Everything ends with the object.
#ifndef COUNTER_TESTS_STORAGE_REPLICATED_POSTGRES_H_
#define COUNTER_TESTS_STORAGE_REPLICATED_POSTGRES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/postgres_server.h"

namespace counter::testing {

class ReplicatedPostgres {
 public:
  struct Options {
    int standbys = 1;
    // Whether commits wait for the first standby.
    bool synchronous = false;
    std::map<std::string, std::string> primary_settings;
    std::map<std::string, std::string> standby_settings;
  };

  // The primary has a migrated database, which all standbys have, too.
  explicit ReplicatedPostgres(const Options& options);
  ReplicatedPostgres() : ReplicatedPostgres(Options()) {}

  PostgresServer& primary() { return *primary_; }
  PostgresServer& standby(int i = 0) { return *standbys_[static_cast<size_t>(i)]; }
  // The name by which the primary knows a standby.
  static std::string StandbyName(int i) { return "standby" + std::to_string(i); }

  // The migrated database at one server, and at the primary or whoever takes over from it.
  std::string UrlAt(const PostgresServer& server) const { return server.Url(database_); }
  std::string PrimaryUrl() const { return UrlAt(*primary_); }
  std::string UrlOfAll() const;

  // Psql on the migrated database; ends the case if it fails.
  std::string Sql(const PostgresServer& server, const std::string& sql) const;

 private:
  std::unique_ptr<PostgresServer> primary_;
  std::vector<std::unique_ptr<PostgresServer>> standbys_;
  std::string database_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_REPLICATED_POSTGRES_H_
