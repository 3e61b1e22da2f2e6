// Stage: servers, mostly two, over one PostgreSQL and one Redis, or one on its embedded store, with
// a faulty line at every place where a line can fail, clocks that can be set, a disk that can be
// filled and a network that can be unplugged.
//
//   clients -- client_line(i) -- server(i) -- database_line(i) -- PostgreSQL, on a small disk
//                                          \_ redis_line(i) ---- Redis
//
// The lines of server 1 go through a virtual network (net_link.h) where that can be had. Everything
// ends with the object; its folder, with the logs, stays if Keep() was called.
//
// Functions fail the case (REQUIRE) if they cannot do what they say. Threads: the test's own; the
// clients any. Ownership: owns all.
#ifndef COUNTER_TESTS_TORTURE_STAGE_H_
#define COUNTER_TESTS_TORTURE_STAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "clients/verify/history.h"
#include "tests/storage/small_disk.h"
#include "tests/support/counter_server.h"
#include "tests/support/faulty_line.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/shifted_clock.h"
#include "tests/torture/net_link.h"

namespace counter::testing {

class Stage {
 public:
  struct Options {
    bool embedded = false;
    int servers = 2;                                   // Of the embedded form there is one.
    std::string binary = {};                           // Of the servers; empty: counterd.
    std::map<std::string, std::string> settings = {};  // Of the servers.
    int line_buffer_bytes = 0;                         // Of the lines to PostgreSQL and Redis.
    bool small_disk = false;                           // PostgreSQL's data are on one.
    bool net_link = false;
  };
  explicit Stage(const Options& options);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  int servers() const { return static_cast<int>(servers_.size()); }
  bool embedded() const { return options_.embedded; }
  CounterServer& server(int i) { return *servers_[static_cast<size_t>(i)]; }
  FaultyLine& client_line(int i) { return *client_lines_[static_cast<size_t>(i)]; }
  FaultyLine& database_line(int i) { return *database_lines_[static_cast<size_t>(i)]; }
  FaultyLine& redis_line(int i) { return *redis_lines_[static_cast<size_t>(i)]; }
  ShiftedClock& server_clock(int i) { return *server_clocks_[static_cast<size_t>(i)]; }
  // Not of the embedded form.
  PostgresServer& postgres() { return *postgres_; }
  ShiftedClock& postgres_clock() { return *postgres_clock_; }
  RedisServer& redis() { return *redis_; }
  ShiftedClock& redis_clock() { return *redis_clock_; }
  // Null where there is none, or it cannot be had here.
  const NetLink* net_link() const { return net_link_.get(); }
  const SmallDisk* small_disk() const { return small_disk_.get(); }

  // One for each server, through its line, that repeats no call.
  std::vector<const client::Client*> Clients() const;

  // What psql prints.
  std::string Sql(const std::string& sql) const;

  // Whether all servers take writes within `patience`, on new connections beside the lines. Starts
  // what has ended.
  bool AwaitService(absl::Duration patience);
  // Whether it takes a new connection and writes of all lanes.
  bool Serves(CounterServer& server);
  // What is in Redis and not in the store, a line each, once it has had the time that a crash may
  // take; empty if nothing is. Requires that nobody writes.
  std::string CacheDifferences() const;
  // Ends the servers in good order; what the store holds then of posts.
  verify::FinalState End();

  // Where the logs are.
  const std::string& folder() const { return folder_; }
  // Leaves the folder behind, and puts PostgreSQL's log there, too.
  void Keep();

 private:
  void StartDatabases();
  void StartServer(int i);
  int LinkListener() const;
  std::map<std::string, std::string> ServerEnv(int i);
  std::string FindCacheDifferences() const;

  const Options options_;
  std::string folder_;
  bool keep_ = false;
  std::unique_ptr<SmallDisk> small_disk_;
  std::unique_ptr<NetLink> net_link_;
  std::unique_ptr<ShiftedClock> postgres_clock_;
  std::unique_ptr<ShiftedClock> redis_clock_;
  std::vector<std::unique_ptr<ShiftedClock>> server_clocks_;
  std::unique_ptr<PostgresServer> postgres_;
  std::string database_;
  std::unique_ptr<RedisServer> redis_;
  std::vector<std::unique_ptr<ServerDirectory>> socket_directories_;
  std::vector<std::unique_ptr<FaultyLine>> database_lines_;
  std::vector<std::unique_ptr<FaultyLine>> redis_lines_;
  std::vector<std::unique_ptr<CounterServer>> servers_;
  std::vector<std::unique_ptr<FaultyLine>> client_lines_;
  std::vector<client::Client> clients_;  // Through the lines.
  int64_t probes_made_ = 0;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_STAGE_H_
