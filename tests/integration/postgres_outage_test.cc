// What callers of two servers notice while PostgreSQL is cut off, restarted or killed: known fault
// K16, and design.md section 3.6. Writes and strong reads fail, cached reads go on, nothing that
// was acknowledged is lost, and all of it heals without a restart of a server.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "clients/cpp/health.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/full_stack_load.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// A post that nobody writes to, and a user and posts of the test's own: so many that all lanes
// have some.
constexpr int64_t kWarm = 500'000;
constexpr int64_t kProber = 1'000'000'000;
constexpr int64_t kProbed = 500'001;
constexpr int64_t kProbes = 10;

// What a server says about itself, asked again and again on a thread of its own.
class HealthWatch {
 public:
  struct Seen {
    int64_t asked = 0;
    int64_t not_live = 0;
    int64_t no_calls = 0;
    std::vector<absl::Time> not_ready;
  };

  explicit HealthWatch(const CounterServer& server)
      : probe_(server.target()), thread_([this] { Watch(); }) {}
  ~HealthWatch() {
    if (thread_.joinable()) Stop();
  }

  Seen Stop() {
    stop_ = true;
    thread_.join();
    return seen_;
  }

 private:
  bool Serves(const char* service) const {
    const auto health = probe_.Check(service, absl::Seconds(5) * Slowness());
    return health.ok() && *health == client::Health::kServing;
  }
  void Watch() {
    while (!stop_) {
      ++seen_.asked;
      if (!Serves("liveness")) ++seen_.not_live;
      if (!Serves("calls")) ++seen_.no_calls;
      const absl::Time before = absl::Now();
      if (!Serves("") || !Serves("counter.v1.CounterService")) seen_.not_ready.push_back(before);
      absl::SleepFor(absl::Milliseconds(20));
    }
  }

  const client::HealthProbe probe_;
  std::atomic<bool> stop_{false};
  Seen seen_;
  std::thread thread_;
};

// Stands where PostgreSQL listened, sends away everyone who comes, and writes down when and which
// process that was. Requires that PostgreSQL is not running.
class Doorkeeper {
 public:
  explicit Doorkeeper(const std::string& socket_directory)
      : path_(socket_directory + "/.s.PGSQL.5432"), socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    listens_ = bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
               listen(socket_, 128) == 0;
    thread_ = std::thread([this] { Watch(); });
  }
  ~Doorkeeper() {
    if (thread_.joinable()) Stop();
  }
  bool listens() const { return listens_; }

  // The times of attempts, by process.
  std::map<pid_t, std::vector<absl::Time>> Stop() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    unlink(path_.c_str());
    return attempts_;
  }

 private:
  void Watch() {
    while (true) {
      const int peer = accept(socket_, nullptr, nullptr);
      if (peer < 0) return;
      ucred who = {};
      socklen_t size = sizeof(who);
      if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
        attempts_[who.pid].push_back(absl::Now());
      close(peer);
    }
  }

  const std::string path_;
  const int socket_;
  bool listens_ = false;
  std::map<pid_t, std::vector<absl::Time>> attempts_;
  std::thread thread_;
};

// A server's connections: two lanes, the reads, the outbox.
constexpr size_t kLinks = 4;

// Each link waits 50 ms, then twice as long, up to a second, of which it may leave off up to half.
size_t MostAttempts(absl::Duration outage) {
  constexpr int kFirstOnes = 6;
  return static_cast<size_t>(kLinks) *
         static_cast<size_t>(kFirstOnes + outage / absl::Milliseconds(500));
}

// The most attempts that came within 20 ms of each other, of those after the first half second:
// until then the waits are short.
size_t LargestCrowd(const std::map<pid_t, std::vector<absl::Time>>& attempts, absl::Time begin) {
  std::vector<absl::Time> all;
  for (const auto& [pid, times] : attempts) {
    for (const absl::Time time : times) {
      if (time > begin + absl::Milliseconds(500)) all.push_back(time);
    }
  }
  std::sort(all.begin(), all.end());
  size_t most = 0;
  for (size_t first = 0, last = 0; last < all.size(); ++last) {
    while (all[last] - all[first] > absl::Milliseconds(20)) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

// Writes and reads, which have connections of their own.
bool BothServe(const FullStack& stack, absl::Duration within) {
  return Eventually(within, [&] {
    for (int i = 0; i < FullStack::kServers; ++i) {
      const auto strong =
          stack.client(i).Count(Post(kWarm), {.consistency = client::Consistency::kStrong});
      if (!strong.ok()) return false;
      for (int64_t post = kProbed; post < kProbed + kProbes; ++post) {
        if (!stack.client(i).Like(kProber, Post(post)).ok()) return false;
      }
    }
    return true;
  });
}

// Cached reads are answered, and everything that needs PostgreSQL is refused in time.
void CheckCachedReadsOnly(const FullStack& stack) {
  for (int i = 0; i < FullStack::kServers; ++i) {
    CAPTURE(i);
    const Client& client = stack.client(i);
    // On a machine that is busy Redis may miss its 20 ms for a moment.
    CHECK(Eventually(absl::Seconds(5) * Slowness(), [&] {
      const auto cached = client.Count(Post(kWarm));
      return cached.ok() && cached->count.source == client::Source::kCache;
    }));
    const absl::Duration soon = absl::Milliseconds(1500) * Slowness();
    absl::Time begin = absl::Now();
    const auto write = client.Like(kProber, Post(kProbed));
    CHECK(absl::Now() - begin < soon);
    CHECK((!write.ok() && write.error().kind == client::ErrorKind::kUnavailable &&
           write.error().reason == "STORE_UNAVAILABLE"));
    begin = absl::Now();
    const auto strong = client.Count(Post(kWarm), {.consistency = client::Consistency::kStrong});
    CHECK(absl::Now() - begin < soon);
    CHECK((!strong.ok() && strong.error().kind == client::ErrorKind::kUnavailable));
  }
}

void RequireTrue(MixedLoadReport& report, const FullStack& stack) {
  INFO(report.writes.ok << " writes, " << report.writes.not_applied << " not applied, "
                        << report.writes.unknown << " unknown");
  CHECK(report.writes.ok > 0);
  for (const auto& [reason, count] : report.writes.errors) {
    INFO(count << " writes ended with " << ErrorReasonName(reason));
    CHECK(reason == ErrorReason::kStoreUnavailable);
  }
  for (int64_t post = kProbed; post < kProbed + kProbes; ++post)
    ++report.writes.pairs[{kProber, post}].unknown_likes;
  for (const std::string& contradiction :
       Contradictions(report.writes, stack.postgres(), stack.database()))
    FAIL_CHECK(contradiction);
  stack.RequireSound();
}

TEST_CASE(
    "K16: while connections are cut and PostgreSQL is restarted, servers stay live and not in a "
    "crowd") {
  FullStack stack;
  for (int i = 0; i < FullStack::kServers; ++i) REQUIRE(stack.client(i).Count(Post(kWarm)).ok());
  std::vector<std::unique_ptr<HealthWatch>> watches;
  for (int i = 0; i < FullStack::kServers; ++i)
    watches.push_back(std::make_unique<HealthWatch>(stack.server(i)));
  MixedLoad load(stack, {.single_writers = 16, .batch_writers = 4, .readers = 0});

  int most_connections = 0;
  for (int round = 0; round < Sized(3, 24); ++round) {
    absl::SleepFor(Sized(absl::Milliseconds(500), absl::Seconds(5)));
    // Returns when they are gone, so that only new ones are counted.
    stack.Sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = "
        "'counterd' AND datname = current_database()");
    int connections = 0;
    REQUIRE(absl::SimpleAtoi(
        stack.Sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counterd' AND "
                  "datname = current_database()"),
        &connections));
    most_connections = std::max(most_connections, connections);
  }
  CHECK(BothServe(stack, absl::Seconds(2) * Slowness()));

  const absl::Time outage = absl::Now();
  stack.postgres().StopFast();
  Doorkeeper door(stack.postgres().socket_directory());
  REQUIRE(door.listens());
  const absl::Time shut = absl::Now();
  absl::SleepFor(absl::Seconds(Sized(2, 5)));
  CheckCachedReadsOnly(stack);
  const absl::Duration shut_for = absl::Now() - shut;
  const auto attempts = door.Stop();
  const absl::Status restarted = stack.postgres().Restart();
  INFO(restarted);
  REQUIRE(restarted.ok());
  const absl::Time ready = absl::Now();
  CHECK(BothServe(stack, absl::Seconds(2) * Slowness()));
  MixedLoadReport report = load.Stop();

  // From now on everything succeeds.
  MixedLoad after(stack, {.single_writers = 16, .batch_writers = 4, .readers = 2});
  absl::SleepFor(absl::Milliseconds(500));
  MixedLoadReport report_after = after.Stop();
  CHECK(report_after.writes.ok > 0);
  CHECK(report_after.writes.errors.empty());
  for (const std::string& fault : report_after.faults) FAIL_CHECK(fault);
  Merge(report.writes, report_after.writes);

  for (int i = 0; i < FullStack::kServers; ++i) {
    CAPTURE(i);
    CHECK(stack.server(i).process().Running());
    const HealthWatch::Seen seen = watches[static_cast<size_t>(i)]->Stop();
    CHECK(seen.asked > 10);
    CHECK(seen.not_live == 0);
    CHECK(seen.no_calls == 0);
    CHECK_FALSE(seen.not_ready.empty());
    for (const absl::Time time : seen.not_ready) {
      CHECK(time > outage);
      CHECK(time < ready + absl::Seconds(2) * Slowness());
    }
  }
  CHECK(static_cast<size_t>(most_connections) <= FullStack::kServers * kLinks);
  CHECK(attempts.size() == FullStack::kServers);
  for (const auto& [pid, times] : attempts) {
    CHECK(times.size() >= kLinks);
    CHECK(times.size() <= MostAttempts(shut_for));
  }
  CHECK(LargestCrowd(attempts, shut) < FullStack::kServers * kLinks);
  RequireTrue(report, stack);
}

// What both servers have done so far; of a while, as a difference.
struct Done {
  double committed = 0;  // Mutations.
  double failed = 0;     // Mutations and calls.
};

Done SoFar(FullStack& stack) {
  Done done;
  for (int i = 0; i < FullStack::kServers; ++i) {
    // One scrape, so that its numbers belong together.
    const auto metrics = stack.server(i).Metrics();
    INFO(metrics.status());
    REQUIRE(metrics.ok());
    done.committed += metrics->Sum("counter_write_batch_rows_sum");
    done.failed += metrics->Sum("counter_mutations_dropped_total") +
                   metrics->Sum("grpc_server_handled_total") -
                   metrics->Sum("grpc_server_handled_total", {{"grpc_code", "OK"}});
  }
  return done;
}

struct Seen {
  double rate = 0;  // Mutations committed, a second.
  double failed = 0;
};

Seen Watch(FullStack& stack, absl::Duration duration) {
  const absl::Time begin = absl::Now();
  const Done before = SoFar(stack);
  absl::SleepFor(duration);
  const Done after = SoFar(stack);
  return {(after.committed - before.committed) / absl::ToDoubleSeconds(absl::Now() - begin),
          after.failed - before.failed};
}

bool AllConnected(FullStack& stack) {
  for (int i = 0; i < FullStack::kServers; ++i)
    if (MetricOf(stack.server(i), "counter_postgres_connections") != kLinks) return false;
  return true;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

TEST_CASE(
    "PostgreSQL is killed under load: nothing acknowledged is lost, and the full rate is back 5 s "
    "after it is ready") {
  FullStack stack;
  for (int i = 0; i < FullStack::kServers; ++i) REQUIRE(stack.client(i).Count(Post(kWarm)).ok());
  MixedLoad load(stack, {.single_writers = 32, .batch_writers = 4, .readers = 0, .users = 200});
  const absl::Duration window = Sized(absl::Milliseconds(500), absl::Seconds(2));
  const absl::Duration bound = absl::Seconds(5) * Slowness();
  constexpr int kKills = 10;
  constexpr double kFull = 0.9;
  // Of each kill: the rate in a window that ended within the bound, in parts of the rate in the
  // window before the kill. Other programs run here, too, and one ratio is one throw of the dice;
  // the middle one of several is not. The short form ends when three or more agree.
  std::vector<double> ratios;
  const auto agree = [&] {
    return !LongForm() && ratios.size() >= 3 && ratios.size() % 2 == 1 && Median(ratios) > kFull;
  };
  while (ratios.size() < kKills && !agree()) {
    CAPTURE(ratios.size());
    absl::SleepFor(absl::Milliseconds(100));
    const Seen before = Watch(stack, window);
    const absl::Time killed = absl::Now();
    stack.postgres().Kill9();
    if (LongForm()) {
      // So long that the servers know.
      absl::SleepFor(absl::Milliseconds(1200));
      CheckCachedReadsOnly(stack);
    }
    const absl::Status restarted = stack.postgres().Restart();
    INFO(restarted);
    REQUIRE(restarted.ok());
    const absl::Time ready = absl::Now();
    // What waited may be let go while a lane is still away: only with all of them the rate is what
    // the servers can do.
    CHECK(Eventually(bound - window, [&] { return AllConnected(stack); }));
    const Seen after = Watch(stack, window);
    const absl::Duration took = absl::Now() - ready;
    CHECK(after.failed == 0);
    CHECK(took < bound);
    ratios.push_back(after.rate / before.rate);
    WARN("ready " << ready - killed << " after the kill, and " << took << " later " << after.rate
                  << "/s, before the kill " << before.rate << "/s: " << ratios.back());
  }
  INFO("ratios " << Catch::rangeToString(ratios));
  CHECK(Median(ratios) > kFull);
  MixedLoadReport report = load.Stop();
  CHECK(report.writes.unknown + report.writes.not_applied > 0);
  for (int i = 0; i < FullStack::kServers; ++i) CHECK(stack.server(i).process().Running());
  RequireTrue(report, stack);
}

}  // namespace
}  // namespace counter::testing
