// Mixed load of the contract suite of LikeStore: random likes, unlikes and batches from several
// threads, every answer checked, then an audit. COUNTER_TEST_SEED replays the random choices.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "tests/contract/store_calls.h"
#include "tests/contract/store_contract.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

constexpr int kWorkers = 8;

struct Shape {
  int64_t users;
  int64_t items;
};

using Pair = std::pair<UserId, Item>;
// What one version of one item shows: it is one state, so it has one count.
using Shown = std::map<std::pair<Item, int64_t>, int64_t>;

// A caller, with a memory of what it was told. Half of the users belong to one worker each, so that
// their answers are known beforehand; the other half are shared by all.
class Worker {
 public:
  Worker(LikeStore& store, const Shape& shape, int number)
      : store_(store), shape_(shape), number_(number), random_(TestSeed() + Unsigned(number)) {}

  void RunUntil(std::chrono::steady_clock::time_point end) {
    while (std::chrono::steady_clock::now() < end && fault.empty()) {
      if (Draw(8) == 0) {
        ReadBack();
      } else {
        Write(Draw(4) == 0 ? 1 + Draw(60) : 1);
      }
    }
  }

  // Read after all workers have ended.
  std::string fault;
  std::map<Pair, int> transitions;  // Likes that changed, minus unlikes that changed.
  Shown shown;
  int64_t mutations = 0;

 private:
  static uint64_t Unsigned(int number) { return static_cast<uint64_t>(number); }
  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  void Check(bool holds, const std::string& promise) {
    if (!holds && fault.empty()) fault = promise;
  }

  bool Owned(UserId user) const {
    return user.value % 2 == 0 && user.value / 2 % kWorkers == number_;
  }
  UserId DrawUser() {
    while (true) {
      const UserId user{1 + Draw(shape_.users)};
      if (user.value % 2 == 1 || Owned(user)) return user;
    }
  }

  void Write(int64_t size) {
    std::vector<Mutation> mutations_now;
    for (int64_t i = 0; i < size; ++i) {
      mutations_now.push_back({DrawUser(), Post(1 + Draw(shape_.items)),
                               Draw(2) == 0 ? Action::kLike : Action::kUnlike});
    }
    const Results results = Apply(store_, mutations_now);
    mutations += size;
    for (size_t i = 0; i < results.size(); ++i) {
      Check(results[i].ok(), absl::StrCat("a write failed: ", results[i].status().message()));
      if (results[i].ok()) CheckAnswer(mutations_now[i], *results[i]);
    }
  }

  void CheckAnswer(const Mutation& mutation, const Applied& answer) {
    const bool like = mutation.action == Action::kLike;
    const Pair pair{mutation.user, mutation.item};
    Check(answer.count >= (like ? 1 : 0), "a count is too small");
    Check(answer.count <= shape_.users - (like ? 0 : 1), "a count is too large");
    Check(answer.version > 0 || (!answer.changed && answer.count == 0), "a version is missing");
    Show(mutation.item, answer.version, answer.count);
    int& balance = transitions[pair];
    if (Owned(mutation.user)) {
      Check(answer.changed == (like ? balance == 0 : balance == 1),
            "changed is wrong for a pair that nobody else touches");
      int64_t& last = last_version_[pair];
      Check(answer.version >= last, "a version went backwards");
      last = answer.version;
    }
    if (answer.changed) balance += like ? 1 : -1;
  }

  void Show(const Item& item, int64_t version, int64_t count) {
    const auto entry = shown.emplace(std::make_pair(item, version), count);
    Check(entry.first->second == count, "one version of an item showed two counts");
  }

  void ReadBack() {
    std::vector<Item> items;
    for (int i = 0; i < 10; ++i) items.push_back(Post(1 + Draw(shape_.items)));
    const absl::StatusOr<CountsRead> counts = Counts(store_, items);
    Check(counts.ok(), "a counts read failed");
    if (!counts.ok()) return;
    for (size_t i = 0; i < items.size(); ++i) {
      Show(items[i], counts->counts[i].version, counts->counts[i].count);
    }
    UserId user = DrawUser();
    if (!Owned(user)) return;
    const absl::StatusOr<PairsRead> pairs = HasLiked(store_, user.value, items);
    Check(pairs.ok(), "a has-liked read failed");
    for (size_t i = 0; pairs.ok() && i < items.size(); ++i) {
      const auto known = transitions.find({user, items[i]});
      const bool liked = known != transitions.end() && known->second == 1;
      Check(pairs->pairs[i].liked == liked, "a strong read missed an acknowledged write");
    }
  }

  LikeStore& store_;
  const Shape shape_;
  const int number_;
  std::mt19937_64 random_;
  std::map<Pair, int64_t> last_version_;
};

void CheckAfterwards(LikeStore& store, const std::vector<Worker>& workers) {
  std::map<Pair, int> transitions;
  Shown shown;
  int64_t mutations = 0;
  for (const Worker& worker : workers) {
    REQUIRE(worker.fault == "");
    mutations += worker.mutations;
    for (const auto& [pair, balance] : worker.transitions) transitions[pair] += balance;
    for (const auto& [version, count] : worker.shown) {
      REQUIRE(shown.emplace(version, count).first->second == count);
    }
  }
  std::map<Item, int64_t> likes;
  std::map<UserId, std::vector<Item>> items_of;
  for (const auto& [pair, balance] : transitions) {
    REQUIRE((balance == 0 || balance == 1));
    likes[pair.second] += balance;
    items_of[pair.first].push_back(pair.second);
  }
  for (const auto& [item, count] : likes) REQUIRE(CountOf(store, item).count == count);
  for (const auto& [user, items] : items_of) {
    const PairsRead read = HasLiked(store, user.value, items).value();
    for (size_t i = 0; i < items.size(); ++i) {
      REQUIRE(read.pairs[i].liked == (transitions.at({user, items[i]}) == 1));
    }
  }
  CHECK(mutations > 0);
  CHECK(AuditAll(store, 7).findings.empty());
}

void RunLoad(const Shape& shape) {
  const std::unique_ptr<StoreUnderTest> under_test = MakeStoreUnderTest();
  std::vector<Worker> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(under_test->store(), shape, i);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(Sized(1'000, 30'000));
  RunWorkers(kWorkers, [&](int number) { workers[static_cast<size_t>(number)].RunUntil(end); });
  CheckAfterwards(under_test->store(), workers);
}

TEST_CASE("store: every answer is right under mixed load on one item") { RunLoad({400, 1}); }
TEST_CASE("store: every answer is right under mixed load on 50 items") { RunLoad({400, 50}); }
TEST_CASE("store: every answer is right under mixed load of 20 users on 30 items") {
  RunLoad({20, 30});
}

}  // namespace
}  // namespace counter::testing
