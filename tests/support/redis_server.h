// RedisServer: a real Redis of a test's own, on a free port of 127.0.0.1 and a folder of its own.
//
// It writes nothing to disk and starts empty, also after Restart(). What a test does to it beyond
// stopping and starting goes through Command(). It needs redis-server of Debian's package of that
// name in the PATH (or named by REDIS_SERVER).
//
// Threads: as CounterServer: Start, Restart, Kill9 and the destructor from one thread, which must
// live as long as the server; the rest from any thread meanwhile.
#ifndef COUNTER_TESTS_SUPPORT_REDIS_SERVER_H_
#define COUNTER_TESTS_SUPPORT_REDIS_SERVER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {

class RedisServer {
 public:
  // Paths, of files in PEM.
  struct TlsFiles {
    std::string authority;
    std::string certificate;
    std::string key;
  };
  struct Options {
    std::vector<std::string> args =
        {};                     // After those that every test needs: {"--maxmemory", "2mb"}.
    std::string user = {};      // For Command(), with a password; empty: `default`.
    std::string password = {};  // For Command(), if args ask for one.
    std::map<std::string, std::string> env = {};  // Of the process, over what it needs.
    // Serves TLS on tls_port() too, with a certificate of its own for localhost and 127.0.0.1.
    bool tls = false;
    // Serves TLS with these files and nothing else: port() is its port, and Command() goes over a
    // socket that no other machine can reach. For nodes of a cluster, which trust each other.
    std::optional<TlsFiles> tls_only = {};
    // A node that may join a cluster (redis_cluster.h); what it knows of that survives Restart().
    bool cluster = false;
  };

  // Starts and waits until it answers.
  static absl::StatusOr<std::unique_ptr<RedisServer>> Start(Options options);
  static absl::StatusOr<std::unique_ptr<RedisServer>> Start() { return Start(Options()); }

  ~RedisServer() = default;  // Kills it.
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  std::string url() const;
  int tls_port() const { return tls_port_; }
  std::string ca_file() const;  // Vouches for its certificate.

  void Kill9();
  void Pause();     // SIGSTOP: connections stand, nothing is answered.
  void Continue();  // SIGCONT.
  // Starts it again, empty, on the same port, and waits until it answers. Requires that it has
  // ended.
  absl::Status Restart();

  // One command on a connection of its own; the reply as text: an integer in digits, "(nil)",
  // elements of an array in lines, an error as Redis writes it, with a leading "-". "-NOCONNECTION"
  // if there was no whole answer in 5 s.
  std::string Command(const std::vector<std::string>& parts) const;

 private:
  explicit RedisServer(Options options) : options_(std::move(options)) {}
  absl::Status Spawn();
  absl::Status MakeCertificate();
  std::string SocketPath() const;  // Empty: Command() goes to port().

  TempDir temp_;
  const TempDir socket_folder_ = TempDir("/tmp");
  const Options options_;
  std::optional<Process> process_;
  int port_ = 0;
  int tls_port_ = 0;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_REDIS_SERVER_H_
