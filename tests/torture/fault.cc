#include "tests/torture/fault.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kTerminateBackends[] =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
    "current_database() AND pid <> pg_backend_pid()";

void Start(CounterServer& server, const std::map<std::string, std::string>& env = {}) {
  // It may come up before its store; then AwaitService starts it again.
  if (!server.process().Running()) (void)server.Restart(env);
}

void Append(std::vector<Fault>& into, std::vector<Fault> from) {
  for (Fault& fault : from) into.push_back(std::move(fault));
}

void AppendServerFaults(Stage& stage, int i, std::vector<Fault>& faults) {
  const std::string name = absl::StrCat("server ", i);
  CounterServer& server = stage.server(i);
  faults.push_back(
      {name + " is killed", [&server](Random&) { server.Kill9(); }, [&server] { Start(server); }});
  faults.push_back(
      {name + " stands still", [&server](Random&) { server.process().Signal(SIGSTOP); },
       [&server] { server.process().Signal(SIGCONT); }, absl::Milliseconds(300), absl::Seconds(2)});
  faults.push_back({name + " is rolled",
                    [&server](Random&) {
                      server.Terminate();
                      REQUIRE(server.WaitExit(absl::Seconds(15) * Slowness()) == ExitStatus{0, 0});
                    },
                    [&server] { Start(server); }, absl::ZeroDuration(), absl::Milliseconds(300),
                    /*ages_cache=*/false});
  if (stage.embedded()) return;
  faults.push_back({name + " dies between a commit and the word of it",
                    [&server](Random& random) {
                      server.Kill9();
                      Start(server, {{"COUNTER_FAILPOINT",
                                      absl::StrCat("exit-after-commit:", 1 + random() % 50)}});
                    },
                    [&server] {
                      (void)server.WaitExit(absl::Seconds(5));
                      if (server.process().Running()) server.Kill9();
                      Start(server, {{"COUNTER_FAILPOINT", ""}});
                    }});
}

void AppendPostgresFaults(Stage& stage, std::vector<Fault>& faults) {
  PostgresServer& postgres = stage.postgres();
  const auto restart = [&postgres] { REQUIRE(postgres.Restart().ok()); };
  faults.push_back({"PostgreSQL is killed", [&postgres](Random&) { postgres.Kill9(); }, restart});
  faults.push_back(
      {"PostgreSQL is restarted", [&postgres](Random&) { postgres.StopFast(); }, restart});
  faults.push_back(
      {"PostgreSQL stands still", [&postgres](Random&) { postgres.SignalAll(SIGSTOP); },
       [&postgres] { postgres.SignalAll(SIGCONT); }, absl::Milliseconds(500), absl::Seconds(3)});
  faults.push_back({"all backends are terminated",
                    [&stage](Random&) { stage.Sql(kTerminateBackends); }, [] {},
                    absl::ZeroDuration(), absl::Milliseconds(200)});
}

void AppendRedisFaults(Stage& stage, std::vector<Fault>& faults) {
  RedisServer& redis = stage.redis();
  faults.push_back({"Redis is killed", [&redis](Random&) { redis.Kill9(); },
                    [&redis] { REQUIRE(redis.Restart().ok()); }});
  faults.push_back(
      {"Redis stands still", [&redis](Random&) { redis.Pause(); }, [&redis] { redis.Continue(); }});
  faults.push_back({"Redis is flushed",
                    [&redis](Random&) {
                      redis.Command({"FLUSHALL"});
                      redis.Command({"SCRIPT", "FLUSH"});
                    },
                    [] {}, absl::ZeroDuration(), absl::Milliseconds(100)});
  faults.push_back({"Redis is full",
                    [&redis](Random&) {
                      redis.Command({"CONFIG", "SET", "maxmemory", "1"});
                    },
                    [&redis] {
                      redis.Command({"CONFIG", "SET", "maxmemory", "0"});
                    }});
}

void AppendLineFaults(FaultyLine& line, const std::string& name, bool ages_cache,
                      std::vector<Fault>& faults) {
  const auto add = [&](const char* what, std::function<void(Random&)> begin) {
    Fault fault = {absl::StrCat(name, " ", what), std::move(begin), [&line] { line.Pass(); }};
    fault.ages_cache = ages_cache;
    faults.push_back(std::move(fault));
  };
  add("swallows", [&line](Random&) { line.Swallow(); });
  add("is slow", [&line](Random& random) { line.Slow(absl::Milliseconds(5 + random() % 200)); });
  add("is cut at a byte",
      [&line](Random& random) { line.CutAfter(1 + static_cast<int64_t>(random() % 20'000)); });
  add("is reset", [&line](Random&) { line.Reset(); });
  add("is half closed", [&line](Random&) { line.HalfClose(); });
  add("drops replies", [&line](Random&) { line.DropReplies(); });
  add("refuses", [&line](Random&) { line.Refuse(); });
}

void AppendClockFaults(ShiftedClock& clock, const std::string& name, std::vector<Fault>& faults) {
  if (!clock.works()) return;
  const auto put_right = [&clock] { clock.Set(absl::ZeroDuration()); };
  faults.push_back({absl::StrCat("the clock of ", name, " is an hour ahead"),
                    [&clock](Random&) { clock.Set(absl::Hours(1)); }, put_right});
  faults.push_back({absl::StrCat("the clock of ", name, " is an hour behind"),
                    [&clock](Random&) { clock.Set(-absl::Hours(1)); }, put_right});
}

// Lets a server have no descriptor more than it has just now, and breaks its lines, so that it
// wants some.
Fault NoDescriptors(Stage& stage, int i) {
  const auto former = std::make_shared<rlimit>();
  CounterServer& server = stage.server(i);
  Fault fault;
  fault.name = absl::StrCat("server ", i, " has no descriptor left");
  fault.begin = [&stage, &server, former, i](Random&) {
    const pid_t pid = server.process().pid();
    rlim_t highest = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/fd"))) {
      uint64_t number = 0;
      if (absl::SimpleAtoi(entry.path().filename().string(), &number))
        highest = std::max<rlim_t>(highest, number);
    }
    prlimit(pid, RLIMIT_NOFILE, nullptr, former.get());
    const rlimit tight = {std::min(highest + 1, former->rlim_max), former->rlim_max};
    prlimit(pid, RLIMIT_NOFILE, &tight, nullptr);
    stage.client_line(i).Reset();
    if (!stage.embedded()) stage.redis_line(i).Reset();
  };
  fault.end = [&stage, &server, former] {
    if (!server.process().Running()) return;
    prlimit(server.process().pid(), RLIMIT_NOFILE, former.get(), nullptr);
    // Debian's gRPC never listens again once accept() has failed so. What watches over servers by
    // connections of its own restarts it (docs/operations.md); here the test does.
    if (Eventually(absl::Seconds(3), [&] { return stage.Serves(server); })) return;
    server.Kill9();
    Start(server);
  };
  return fault;
}

Fault DiskFull(Stage& stage) {
  const std::string ballast = stage.small_disk()->path() + "/ballast";
  PostgresServer& postgres = stage.postgres();
  return {"PostgreSQL's disk is full", [ballast](Random&) { FillDisk(ballast); },
          [ballast, &postgres] {
            unlink(ballast.c_str());
            // It ends by itself when it cannot even recover.
            if (!Eventually(absl::Seconds(5),
                            [&] { return postgres.Psql(postgres.Url(), "SELECT 1").ok(); }))
              REQUIRE(postgres.Restart().ok());
          },
          absl::Seconds(1), absl::Seconds(4)};
}

// Every flush of one backend that writes fails until it ends. One alone: what recovers must be able
// to flush.
Fault FailingFlush(Stage& stage) {
  const auto strace = std::make_shared<std::optional<Process>>();
  return {"a flush of PostgreSQL fails",
          [&stage, strace](Random&) {
            int pid = 0;
            const bool found = Eventually(absl::Seconds(5), [&] {
              return absl::SimpleAtoi(
                  stage.Sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'counterd' "
                            "AND query LIKE '%INSERT INTO user_likes%' LIMIT 1"),
                  &pid);
            });
            if (!found) return;
            Process::Options options;
            options.argv = {"strace", "-qq",
                            "-p",     absl::StrCat(pid),
                            "-e",     "trace=fsync,fdatasync",
                            "-e",     "inject=fsync,fdatasync:error=EIO"};
            options.env = Process::BaseEnv();
            auto started = Process::Start(options);
            if (started.ok()) strace->emplace(*std::move(started));
          },
          [strace] { strace->reset(); }};
}

}  // namespace

std::vector<Fault> ProcessFaults(Stage& stage) {
  std::vector<Fault> faults;
  for (int i = 0; i < stage.servers(); ++i) AppendServerFaults(stage, i, faults);
  if (!stage.embedded()) {
    AppendPostgresFaults(stage, faults);
    AppendRedisFaults(stage, faults);
  }
  return faults;
}

std::vector<Fault> LineFaults(Stage& stage) {
  std::vector<Fault> faults;
  for (int i = 0; i < stage.servers(); ++i) {
    AppendLineFaults(stage.client_line(i), absl::StrCat("the clients' line to server ", i),
                     /*ages_cache=*/false, faults);
    if (stage.embedded()) continue;
    AppendLineFaults(stage.database_line(i),
                     absl::StrCat("the line of server ", i, " to PostgreSQL"), true, faults);
    AppendLineFaults(stage.redis_line(i), absl::StrCat("the line of server ", i, " to Redis"), true,
                     faults);
  }
  return faults;
}

std::vector<Fault> ClockFaults(Stage& stage) {
  std::vector<Fault> faults;
  for (int i = 0; i < stage.servers(); ++i)
    AppendClockFaults(stage.server_clock(i), absl::StrCat("server ", i), faults);
  if (!stage.embedded()) {
    AppendClockFaults(stage.postgres_clock(), "PostgreSQL", faults);
    AppendClockFaults(stage.redis_clock(), "Redis", faults);
  }
  return faults;
}

std::vector<Fault> MachineFaults(Stage& stage) {
  std::vector<Fault> faults;
  for (int i = 0; i < stage.servers(); ++i) faults.push_back(NoDescriptors(stage, i));
  if (stage.embedded()) return faults;
  faults.push_back(FailingFlush(stage));
  if (stage.small_disk() != nullptr) faults.push_back(DiskFull(stage));
  if (const NetLink* link = stage.net_link(); link != nullptr) {
    faults.push_back({"the network of server 1 is unplugged", [link](Random&) { link->Down(); },
                      [link] { link->Up(); }, absl::Milliseconds(500), absl::Seconds(4)});
  }
  return faults;
}

std::vector<Fault> AllFaults(Stage& stage) {
  std::vector<Fault> faults = ProcessFaults(stage);
  Append(faults, LineFaults(stage));
  Append(faults, ClockFaults(stage));
  Append(faults, MachineFaults(stage));
  return faults;
}

}  // namespace counter::testing
