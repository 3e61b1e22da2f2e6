// The embedded store and its disk: flushes, a full disk, a failing one, and kill -9.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "storage/sqlite/sqlite_store.h"
#include "tests/contract/store_calls.h"
#include "tests/storage/disk_faults.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kVictimPath[] = "COUNTER_TEST_VICTIM_PATH";

std::unique_ptr<LikeStore> Open(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  options.probe_interval = absl::Milliseconds(20);
  return OpenSqliteStore(options).value();
}

bool HealthyAgain(LikeStore& store) {
  return Eventually(absl::Seconds(10) * Slowness(), [&] { return store.Health().ok(); });
}

TEST_CASE(
    "sqlite store: a write is answered after a flush, and what changes nothing flushes none") {
  TempDir folder;
  const std::unique_ptr<LikeStore> store = Open(folder.File("likes.db"));
  for (int64_t user = 1; user <= 20; ++user) {
    const int64_t before = Disk().flushes;
    REQUIRE(ApplyOne(*store, Like(user, Post(1)))->changed);
    CHECK(Disk().flushes > before);
  }
  const int64_t before = Disk().flushes;
  CHECK_FALSE(ApplyOne(*store, Like(1, Post(1)))->changed);
  CHECK_FALSE(ApplyOne(*store, Like(99, Post(1)), ExpiredLimits()).ok());
  CHECK(Disk().flushes == before);
}

TEST_CASE("sqlite store: a full disk refuses writes as not applied, reads go on, and it heals") {
  TempDir folder;
  const std::unique_ptr<LikeStore> store = Open(folder.File("likes.db"));
  REQUIRE(ApplyOne(*store, Like(1, Post(1)))->changed);
  Disk().full = true;
  const absl::StatusOr<Applied> refused = ApplyOne(*store, Like(2, Post(1)));
  CHECK(ReasonOf(refused.status()) == ErrorReason::kStoreUnavailable);
  CHECK(IsNotApplied(refused.status()));
  CHECK_THAT(std::string(store->Health().message()), Catch::Contains("full"));
  CHECK(CountOf(*store, Post(1)).count == 1);
  CHECK_FALSE(Likes(*store, 2, Post(1)));
  Disk().full = false;
  CHECK(HealthyAgain(*store));  // Without a write.
  CHECK(ApplyOne(*store, Like(2, Post(1)))->changed);
  CHECK(AuditAll(*store).findings.empty());
}

TEST_CASE("sqlite store: a file that may not grow refuses writes, and takes them when it may") {
  TempDir folder;
  const std::unique_ptr<LikeStore> store = Open(folder.File("likes.db"));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  rlimit small = old_limit;
  small.rlim_cur = 400'000;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::set<int64_t> liked;
  int64_t user = 0;
  absl::Status refused;
  while (refused.ok() && user < 5000) {
    ++user;
    const absl::StatusOr<Applied> result = ApplyOne(*store, Like(user, Post(user)));
    refused = result.status();
    if (result.ok()) liked.insert(user);
  }
  const absl::Status health = store->Health();
  REQUIRE(setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  CHECK(ReasonOf(refused) == ErrorReason::kStoreUnavailable);
  CHECK_FALSE(health.ok());
  CHECK(HealthyAgain(*store));
  CHECK(ApplyOne(*store, Like(user, Post(user))).ok());
  for (const int64_t one : liked) CHECK(Likes(*store, one, Post(one)));
  CHECK(AuditAll(*store).findings.empty());
}

TEST_CASE("sqlite store: a failed flush leaves the outcome open, and the truth is read anew") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  std::unique_ptr<LikeStore> store = Open(path);
  REQUIRE(ApplyOne(*store, Like(1, Post(1)))->changed);
  Disk().flushes_fail = true;
  const absl::StatusOr<Applied> failed = ApplyOne(*store, Like(2, Post(1)));
  CHECK(ReasonOf(failed.status()) == ErrorReason::kStoreUnavailable);
  CHECK_FALSE(IsNotApplied(failed.status()));
  CHECK_FALSE(store->Health().ok());
  CHECK(CountOf(*store, Post(1)).count >= 1);
  Disk().flushes_fail = false;
  CHECK(HealthyAgain(*store));
  const bool applied = Likes(*store, 2, Post(1));
  CHECK(CountOf(*store, Post(1)).count == (applied ? 2 : 1));
  CHECK(ApplyOne(*store, Like(2, Post(1)))->changed == !applied);
  store.reset();
  store = Open(path);
  CHECK(CountOf(*store, Post(1)).count == 2);
  CHECK(AuditAll(*store).findings.empty());
}

TEST_CASE("sqlite store: a disk that fails now and then under load costs no exactness") {
  TempDir folder;
  const std::unique_ptr<LikeStore> store = Open(folder.File("likes.db"));
  std::mt19937_64 random(TestSeed());
  std::set<int64_t> certain;  // Users whose like was acknowledged.
  std::set<int64_t> never;    // Users whose like was refused as not applied.
  for (int64_t user = 1; user <= 600; ++user) {
    const auto fault = random() % 6;
    Disk().full = fault == 0;
    Disk().writes_fail = fault == 1;
    Disk().flushes_fail = fault == 2;
    const absl::StatusOr<Applied> result = ApplyOne(*store, Like(user, Post(user % 7 + 1)));
    if (result.ok()) certain.insert(user);
    if (!result.ok() && IsNotApplied(result.status())) never.insert(user);
  }
  Disk().full = Disk().writes_fail = Disk().flushes_fail = false;
  CHECK(HealthyAgain(*store));
  CHECK(certain.size() > 100);
  CHECK(never.size() > 10);
  for (const int64_t user : certain) CHECK(Likes(*store, user, Post(user % 7 + 1)));
  for (const int64_t user : never) CHECK_FALSE(Likes(*store, user, Post(user % 7 + 1)));
  CHECK(AuditAll(*store).findings.empty());
}

// ---- kill -9 -----------------------------------------------------------------------------------

// Runs in a process of its own, which is killed: likes and unlikes without end, and writes a line
// for each acknowledged one, "+user item" or "-user item".
TEST_CASE("sqlite store: the victim of kill -9", "[.victim]") {
  const std::unique_ptr<LikeStore> store = Open(std::getenv(kVictimPath));
  std::mt19937_64 random(TestSeed());
  int64_t user = 0;
  while (true) {
    std::vector<Mutation> mutations;
    for (int i = 0; i < 20; ++i) {
      ++user;
      mutations.push_back(Like(user, Post(1 + user % 11)));
    }
    if (user > 400) mutations.push_back(Unlike(user - 400, Post(1 + (user - 400) % 11)));
    const Results results = Apply(*store, mutations);
    std::string lines;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok()) continue;
      absl::StrAppend(&lines, mutations[i].action == Action::kLike ? "+" : "-",
                      mutations[i].user.value, " ", mutations[i].item.id, "\n");
    }
    if (write(STDOUT_FILENO, lines.data(), lines.size()) < 0) std::abort();
  }
}

TEST_CASE("sqlite store: kill -9 loses nothing that was acknowledged") {
  TempDir folder;
  const std::string path = folder.File("likes.db");
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < Sized(3, 30); ++round) {
    // Each round starts from the file that the killed one left, with new users in its order.
    const std::string out = folder.File(absl::StrCat("acknowledged", round));
    Process::Options options;
    options.argv = {"/proc/self/exe", "[.victim]"};
    options.env = Process::BaseEnv();
    options.env[kVictimPath] = path;
    options.stdout_path = out;
    Process victim = Process::Start(options).value();
    const size_t enough = 1'000 + random() % 20'000;
    const bool worked =
        Eventually(absl::Seconds(30) * Slowness(), [&] { return ReadFile(out).size() > enough; });
    victim.Kill();
    REQUIRE(victim.Wait(absl::Seconds(10)));
    REQUIRE(worked);

    std::set<std::pair<int64_t, int64_t>> liked;
    std::set<std::pair<int64_t, int64_t>> unliked;
    // The kill may have cut the last line.
    const std::string text = ReadFile(out);
    std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
    std::string line;
    while (std::getline(lines, line)) {
      const size_t space = line.find(' ');
      if ((line[0] != '+' && line[0] != '-') || space == std::string::npos) continue;
      const std::pair<int64_t, int64_t> pair(std::atoll(line.c_str() + 1),
                                             std::atoll(line.c_str() + space));
      (line[0] == '+' ? liked : unliked).insert(pair);
      if (line[0] == '-') liked.erase(pair);
    }
    REQUIRE(liked.size() > 10);
    const std::unique_ptr<LikeStore> store = Open(path);
    const int64_t newest = std::max_element(liked.begin(), liked.end())->first;
    for (const auto& [user, item] : liked) {
      // The unlike of one who is so old may have been in flight at the kill.
      const bool in_doubt = (user + 400) % 20 == 0 && user + 400 > newest;
      if (!in_doubt) CHECK(Likes(*store, user, Post(item)));
    }
    for (const auto& [user, item] : unliked) CHECK_FALSE(Likes(*store, user, Post(item)));
    CHECK(AuditAll(*store).findings.empty());
  }
}

}  // namespace
}  // namespace counter::testing
