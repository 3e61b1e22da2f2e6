// PostgresServer: a real PostgreSQL 15 of a test's own; PgBouncer: a real pgbouncer before it.
//
// Each is a private process on a unix socket in a directory of its own below /tmp, with the
// ordinary settings of durability, and ends with the object. When the test runs as root, PostgreSQL
// runs as the account `postgres` or `nobody`, because it refuses root: then the test needs to run
// outside of Bazel's sandbox, which knows no other account (tags = ["no-sandbox"]).
//
// Nothing is installed: Find() says why if the programs are not there.
//
// A standby is made from a running server by pg_basebackup and streams from it: asynchronously, or,
// where the primary's synchronous_standby_names holds its name, synchronously.
//
// Threads: Url, Psql, CountLog from any thread; the rest from one thread (the child dies with the
// thread that started it).
#ifndef COUNTER_TESTS_SUPPORT_POSTGRES_SERVER_H_
#define COUNTER_TESTS_SUPPORT_POSTGRES_SERVER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/process.h"

namespace counter::testing {

// A directory that the account of the server may use, and that goes with the object.
class ServerDirectory {
 public:
  // `parent` must exist. Ends the process if no directory can be made.
  explicit ServerDirectory(const std::string& parent = "/tmp");
  ~ServerDirectory();
  ServerDirectory(const ServerDirectory&) = delete;
  ServerDirectory& operator=(const ServerDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class PostgresServer {
 public:
  struct Options {
    std::map<std::string, std::string> settings;  // Of postgresql.conf, over the test's own.
    std::map<std::string, std::string> env = {};  // Of the process, over what it needs.
    std::string data_parent = "/tmp";             // Where the data folder is made.
    // Listens on a free port of 127.0.0.1, too, with this certificate and key (PEM) for TLS.
    std::string certificate = {};
    std::string key = {};
    absl::Duration ready_deadline = absl::Seconds(30);
  };

  // Makes a new cluster, starts it and waits until it takes connections.
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start(Options options);
  static absl::StatusOr<std::unique_ptr<PostgresServer>> Start() { return Start(Options()); }
  // Copies `primary`, starts the copy as a hot standby that streams from it, and waits until it
  // takes connections. `name` is what the primary knows it by.
  static absl::StatusOr<std::unique_ptr<PostgresServer>> StartStandby(const PostgresServer& primary,
                                                                      const std::string& name,
                                                                      Options options);
  static absl::StatusOr<std::unique_ptr<PostgresServer>> StartStandby(const PostgresServer& primary,
                                                                      const std::string& name) {
    return StartStandby(primary, name, Options());
  }
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // For the driver: "host=/tmp/... user=postgres dbname=...".
  std::string Url(absl::string_view database = "postgres",
                  absl::string_view user = "postgres") const;
  // Of 127.0.0.1; 0 without a certificate.
  int port() const { return port_; }
  // Makes an empty database and returns its URL.
  absl::StatusOr<std::string> MakeDatabase(const std::string& name);
  // Runs SQL with psql; what it printed, unaligned, without headers.
  absl::StatusOr<std::string> Psql(const std::string& url, const std::string& sql) const;
  // psql as a process that runs `sql` (which may sleep) until it ends or is killed.
  absl::StatusOr<Process> PsqlProcess(const std::string& url, const std::string& sql) const;

  // SIGKILL to the postmaster; waits until it and all its children are gone.
  void Kill9();
  // Starts it again on the same data; waits until it takes connections.
  absl::Status Restart();
  // Whether it was started and has not ended, by itself or otherwise.
  bool Running() { return process_.has_value() && process_->Running(); }
  // Ends it as `pg_ctl stop -m fast` does, and waits.
  void StopFast();
  // To the postmaster and all its children: SIGSTOP, SIGCONT.
  void SignalAll(int signal) const;

  // Of a standby: ends its recovery, and waits until it takes writes, on a timeline of its own.
  absl::Status Promote() const;
  // Of a standby: whether, within `patience`, it has replayed what `primary` has on disk now.
  bool CatchesUpWith(const PostgresServer& primary, absl::Duration patience) const;
  // Throws the data away and makes it a standby of `primary`, as StartStandby; at the same address.
  absl::Status RebuildAsStandbyOf(const PostgresServer& primary, const std::string& name);
  // Reads the settings again, such as ALTER SYSTEM has written; when it returns they are those of
  // every command that comes from then on, of old sessions, too. (SIGHUP alone says nothing of
  // when.)
  absl::Status Reload() const;
  // Sets a setting of postgresql.conf for the next start.
  void Set(const std::string& name, const std::string& value);

  // The directory of the socket, and of pgbouncer's.
  const std::string& socket_directory() const { return directory_.path(); }
  std::string data_directory() const { return data_.path() + "/data"; }
  std::string Log() const;
  // How many lines of the log hold `text`.
  int CountLog(absl::string_view text) const;

 private:
  explicit PostgresServer(Options options);
  absl::Status Init();
  absl::Status CopyFrom(const PostgresServer& primary, const std::string& name);
  void WriteSettings() const;
  absl::Status Spawn();

  Options options_;
  int port_ = 0;
  ServerDirectory directory_;
  ServerDirectory data_;
  std::optional<Process> process_;
};

class PgBouncer {
 public:
  // Pools transactions of every database of `server`, with `pool_size` connections each.
  static absl::StatusOr<std::unique_ptr<PgBouncer>> Start(const PostgresServer& server,
                                                          int pool_size = 10);
  ~PgBouncer() = default;
  std::string Url(absl::string_view database, absl::string_view user = "postgres") const;
  std::string Log() const;

 private:
  PgBouncer() = default;
  ServerDirectory directory_;
  std::optional<Process> process_;
};

// A program of PostgreSQL 15 ("pg_ctl"), or of the PATH ("pgbouncer"); empty if it is not
// installed.
std::string FindPostgresProgram(const std::string& name);
// argv that runs a program as the account that a server needs here, dying with the test.
std::vector<std::string> AsServerAccount(std::vector<std::string> argv);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_POSTGRES_SERVER_H_
