#include "storage/postgres/read_routing.h"

#include <optional>

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

const Item kItem = {ItemType{1}, 7};

// A server that answers each read at once with one version of whatever is asked for.
struct FakeServer {
  using CountsDone = ReadBatcher<Item, ItemCount>::Done;
  using PairsDone = ReadBatcher<Pair, PairState>::Done;

  bool PushCounts(const std::vector<Item>& items, const CallLimits&, CountsDone& done) {
    ++asked;
    if (!works) {
      done(MakeError(ErrorReason::kStoreUnavailable, "gone"));
      return true;
    }
    done(ReadAnswers<ItemCount>{{items.size(), {version, version, source}}, as_of});
    return true;
  }
  bool PushPairs(const std::vector<Pair>& pairs, const CallLimits&, PairsDone& done) {
    ++asked;
    done(ReadAnswers<PairState>{{pairs.size(), {liked, version}}, as_of});
    return true;
  }
  void Pump() {}
  void Start() {}
  void Stop() {}
  void DropUnwanted() {}
  void TimedOut(size_t) {}
  bool usable(MonotonicTime) const { return true; }
  bool idle() const { return true; }

  int64_t version = 0;
  ReadSource source = ReadSource::kPrimary;
  absl::Time as_of = absl::FromUnixSeconds(1'000);
  bool works = true;
  bool liked = true;
  int asked = 0;
};

struct World {
  World() {
    auto owned = std::make_unique<FakeServer>();
    replica = owned.get();
    replica->source = ReadSource::kReplica;
    reads.Add(std::move(owned));
  }
  std::optional<ItemCount> Count(int64_t min_version, Consistency consistency) {
    std::optional<ItemCount> answer;
    reads.Counts({{kItem, min_version}}, consistency, {}, [&](const auto& read) {
      if (read.ok()) answer = read->counts[0];
    });
    return answer;
  }

  FakeServer primary;
  FakeServer* replica = nullptr;
  ReadRouting<FakeServer, FakeServer> reads{primary, [] {}};
};

TEST_CASE("a read that may lag is answered by the replica, a strong one by the primary") {
  World world;
  world.primary.version = 5;
  world.replica->version = 3;
  CHECK(world.Count(0, Consistency::kCached)->version == 3);
  CHECK(world.Count(0, Consistency::kStrong)->version == 5);
}

TEST_CASE("an item that the replica has in an older version than asked for is the primary's") {
  World world;
  world.primary.version = 5;
  world.replica->version = 3;
  const std::optional<ItemCount> answer = world.Count(4, Consistency::kCached);
  CHECK(answer->version == 5);
  CHECK(answer->source == ReadSource::kPrimary);
  CHECK(world.reads.keys_older_than_token() == 1);
}

TEST_CASE("what the replica cannot answer is the primary's") {
  World world;
  world.primary.version = 5;
  world.replica->works = false;
  CHECK(world.Count(0, Consistency::kCached)->version == 5);
}

TEST_CASE(
    "the primary is asked again for what it does not show yet, and then its answer is final") {
  World world;
  world.primary.version = 3;
  world.replica->version = 3;
  std::optional<int64_t> version;
  world.reads.Counts({{kItem, 4}}, Consistency::kCached, {},
                     [&](const auto& read) { version = read->counts[0].version; });
  CHECK_FALSE(version.has_value());
  int ticks = 0;
  for (; ticks < 1000 && !version.has_value(); ++ticks) world.reads.Tick();
  CHECK(version == 3);
  CHECK(ticks == 126);
  CHECK(world.primary.asked == 1 + kAsksAgainMax);
}

TEST_CASE("what the primary shows late, and still within the asking, is what is read") {
  World world;
  world.primary.version = 3;
  world.replica->version = 3;
  std::optional<int64_t> version;
  world.reads.Counts({{kItem, 4}}, Consistency::kCached, {},
                     [&](const auto& read) { version = read->counts[0].version; });
  for (int i = 0; i < 60; ++i) world.reads.Tick();
  CHECK_FALSE(version.has_value());
  world.primary.version = 4;
  for (int i = 0; i < 126 && !version.has_value(); ++i) world.reads.Tick();
  CHECK(version == 4);
}

TEST_CASE("a pair's version is held against the token though it is not liked") {
  World world;
  world.primary.version = 5;
  world.replica->version = 3;
  world.replica->liked = false;
  std::optional<PairsRead> answer;
  world.reads.HasLiked(UserId{1}, {{kItem, 4}}, Consistency::kCached, {},
                       [&](const auto& read) { answer = *read; });
  CHECK(answer->pairs[0].liked);
  CHECK(answer->source == ReadSource::kPrimary);
}

}  // namespace
}  // namespace counter::postgres
