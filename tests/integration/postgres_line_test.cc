// A bad line between a server and PostgreSQL: known faults K11, where it is narrow, and K18, where
// answers to commits are lost.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/error.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/served_store.h"
#include "tests/storage/postgres_load.h"
#include "tests/storage/postgres_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

// One more server of a stack, on a line of its own to the stack's PostgreSQL.
struct ServerOnLine {
  ServerOnLine(const FullStack& stack, const PostgresProxy::Options& options)
      : proxy(stack.postgres(), options),
        server(stack.StartAnother(
            {{"DATABASE_URL", UrlOf(proxy.Url(stack.Sql("SELECT current_database()")))},
             // These lines are slow on purpose: no write is to be refused for that.
             {"WRITE_WAIT_MAX_MILLISECONDS", "60000"}})),
        client(ConnectTo(*server)) {}

  PostgresProxy proxy;
  const std::unique_ptr<CounterServer> server;
  const Client client;
};

// Which threads of a process stand in a call that sends, by what the kernel says. Nothing that is
// not blocked is there: a call that does not wait is over before anybody looks, nearly always.
class SendWatch {
 public:
  explicit SendWatch(pid_t pid) : threads_(absl::StrCat("/proc/", pid, "/task")) {}

  void Look() {
    std::map<std::string, std::string> sending;
    std::error_code error;
    for (const auto& thread : std::filesystem::directory_iterator(threads_, error)) {
      std::string call;
      std::getline(std::ifstream(thread.path() / "syscall"), call);
      if (!call.empty()) seen_ = true;
      const std::string number = call.substr(0, call.find(' '));
      // write, writev, sendto, sendmsg on x86-64.
      if (number == "1" || number == "20" || number == "44" || number == "46")
        sending[thread.path()] = call;
    }
    // At the same place with the same arguments as 10 ms ago: it waits there.
    for (const auto& [thread, call] : sending) {
      const auto before = sending_.find(thread);
      if (before != sending_.end() && before->second == call) parked_ = call;
    }
    sending_ = std::move(sending);
  }
  // Whether the kernel tells at all.
  bool seen() const { return seen_; }
  // The call in which a thread was parked; empty if none was.
  const std::string& parked() const { return parked_; }

 private:
  const std::string threads_;
  std::map<std::string, std::string> sending_;
  bool seen_ = false;
  std::string parked_;
};

// How long a number that should rise has not risen, at most.
class Stall {
 public:
  void Look(double value) {
    const absl::Time now = absl::Now();
    if (value != last_) since_ = now;
    last_ = value;
    longest_ = std::max(longest_, now - since_);
  }
  absl::Duration longest() const { return longest_; }

 private:
  double last_ = 0;
  absl::Time since_ = absl::Now();
  absl::Duration longest_;
};

TEST_CASE(
    "K11: with four kilobytes of room on the line, a server's large writes and reads never block "
    "each other") {
  FullStack stack;
  ServerOnLine narrow(stack, {.buffer_bytes = 4096});
  // Ten thousand rows at once, and reads of a thousand.
  constexpr int kWriters = 10;
  constexpr int kReaders = 2;
  constexpr int64_t kBatch = 1000;
  const absl::Time end = absl::Now() + Sized(absl::Seconds(2), absl::Seconds(60));
  std::atomic<int> reads = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> working = kWriters + kReaders;
  SendWatch sends(narrow.server->process().pid());
  // Likes as the server commits them, since a call of a thousand ends with the last of its batches.
  Stall of_likes;
  Stall of_reads;
  std::thread watch([&] {
    while (working == kWriters + kReaders) {
      absl::SleepFor(absl::Milliseconds(10));
      sends.Look();
      of_reads.Look(static_cast<double>(reads));
      const auto metrics = narrow.server->Metrics();
      if (metrics.ok()) of_likes.Look(metrics->Sum("counter_write_batch_rows_sum"));
    }
  });
  const client::ReadOptions strong = {.consistency = client::Consistency::kStrong};
  RunWorkers(kWriters + kReaders, [&](int worker) {
    for (int64_t round = 0; absl::Now() < end; ++round) {
      if (worker < kWriters) {
        std::vector<client::Mutation> likes;
        for (int64_t i = 1; i <= kBatch; ++i) likes.push_back({1 + worker + round * 100, Post(i)});
        const auto reply = narrow.client.WriteLikes(likes);
        if (!reply.ok() || !std::all_of(reply->results.begin(), reply->results.end(),
                                        [](const auto& result) { return result.ok(); }))
          ++failed;
      } else {
        std::vector<client::Item> items;
        for (int64_t i = 1; i <= kBatch; ++i) items.push_back(Post(i));
        ++*(narrow.client.Counts(items, strong).ok() ? &reads : &failed);
        ++*(narrow.client.HasLiked(1, items, strong).ok() ? &reads : &failed);
      }
    }
    --working;
  });
  watch.join();
  const double likes = MetricOf(*narrow.server, "counter_write_batch_rows_sum");
  WARN(likes << " likes, longest stall " << of_likes.longest() << "; " << reads
             << " reads, longest stall " << of_reads.longest());
  CHECK(failed == 0);
  CHECK(likes >= kWriters * kBatch);
  CHECK(reads >= 2 * kReaders);
  CHECK(of_likes.longest() < absl::Seconds(1) * Slowness());
  CHECK(of_reads.longest() < absl::Seconds(1) * Slowness());
  CHECK(sends.parked() == "");
  if (!sends.seen()) WARN("the kernel does not tell where threads stand: not looked at");
  stack.RequireSound();
}

TEST_CASE("K18: when answers to commits are lost on the way, no caller is told a falsehood") {
  FullStack stack;
  // After each loss a connection waits before it comes again, up to a second: several lines at
  // once.
  const int lines = Sized(1, 5);
  const int losses = Sized(5, 200);  // Of each line.
  std::vector<std::unique_ptr<ServerOnLine>> lossy;
  for (int i = 0; i < lines; ++i)
    lossy.push_back(std::make_unique<ServerOnLine>(stack, PostgresProxy::Options()));
  // One more server loses nothing, and writes what the others may not know of.
  std::vector<std::unique_ptr<ServedStore>> stores;
  stores.push_back(std::make_unique<ServedStore>(stack.client(0)));
  for (const auto& line : lossy) stores.push_back(std::make_unique<ServedStore>(line->client));
  std::vector<LikeStore*> written;
  for (const auto& store : stores) written.push_back(store.get());
  LoadOptions load;
  load.threads = 8;
  load.batch = 3;
  load.users = 100;
  load.items = 50;
  std::atomic<int64_t> writes = 0;
  load.written = &writes;
  std::vector<client::Item> items;
  for (int64_t post = 1; post <= load.items; ++post) items.push_back(Post(post));
  // So that all counts are in the cache while their commits get lost.
  REQUIRE(stack.client(1).Counts(items).ok());
  BackgroundLoad loader(written, load);
  // A user and a post of their own, by which each line sees that it serves again.
  const auto prober = [&](int line) { return load.users + 1 + line; };
  const client::Item probed = Post(load.items + 1);
  std::vector<int> lost(lossy.size());
  RunWorkers(lines, [&](int line) {
    const auto at = static_cast<size_t>(line);
    for (ServerOnLine& on = *lossy[at]; lost[at] < losses; ++lost[at]) {
      on.proxy.SwallowAnswers(1);
      if (!Eventually(absl::Seconds(20) * Slowness(),
                      [&] { return on.proxy.swallowed() > lost[at]; }))
        break;
      if (!Eventually(absl::Seconds(20) * Slowness(),
                      [&] { return on.client.Like(prober(line), probed).ok(); }))
        break;
    }
    lossy[at]->proxy.SwallowAnswers(0);
  });
  // The stated size: a thousand losses in fifty thousand operations.
  const int64_t stated = Sized(0, 50'000);
  CHECK(Eventually(absl::Minutes(10), [&] { return writes >= stated; }));
  LoadReport report = loader.Stop();
  WARN(report.ok << " writes, " << report.not_applied << " not applied, " << report.unknown
                 << " unknown");
  for (const int of_line : lost) CHECK(of_line == losses);
  CHECK(report.ok + report.unknown >= stated);
  // Each loss is somebody's unknown outcome.
  CHECK(report.unknown > 0);
  for (const auto& [reason, count] : report.errors) {
    INFO(count << " writes ended with " << ErrorReasonName(reason));
    CHECK(reason == ErrorReason::kStoreUnavailable);
  }
  for (int line = 0; line < lines; ++line) ++report.pairs[{prober(line), probed.id}].unknown_likes;
  for (const std::string& contradiction :
       Contradictions(report, stack.postgres(), stack.database()))
    FAIL_CHECK(contradiction);
  stack.RequireSound();
  std::string differences;
  CHECK(stack.CacheComesToEqualStore(differences));
  INFO(differences);
  CHECK(differences.empty());
}

}  // namespace
}  // namespace counter::testing
