// The checker on logs that are written by hand: each kind of fault is found, and nothing that the
// contract allows. And on random services that keep the contract: never a finding.
#include "clients/verify/checker.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "clients/verify/history.h"

namespace counter::verify {
namespace {

constexpr Pair kPair = {1, 7};
constexpr Pair kOther = {2, 7};
constexpr Instant kSecond = 1'000'000;

// A log in the making: each call begins a millisecond after the last one and takes one.
class Log {
 public:
  Log& Write(const Pair& pair, Act act, Outcome outcome, int64_t count = -1) {
    const Instant begin = Next();
    history.writes.push_back({pair, act, outcome, begin, begin + 1000, count});
    return *this;
  }
  Log& Liked(const Pair& pair = kPair, int64_t count = -1) {
    return Write(pair, Act::kLike, Outcome::kChanged, count);
  }
  Log& AlreadyLiked() { return Write(kPair, Act::kLike, Outcome::kUnchanged); }
  Log& Unliked(int64_t count = -1) { return Write(kPair, Act::kUnlike, Outcome::kChanged, count); }
  Log& NotLiked() { return Write(kPair, Act::kUnlike, Outcome::kUnchanged); }
  Log& Count(int64_t count, Freshness freshness = Freshness::kStrong) {
    const Instant begin = Next();
    history.count_reads.push_back({kPair.item, count, freshness, begin, begin + 1000});
    return *this;
  }
  Log& HasLiked(bool liked, Freshness freshness = Freshness::kStrong) {
    const Instant begin = Next();
    history.pair_reads.push_back({kPair, liked, freshness, begin, begin + 1000});
    return *this;
  }
  Log& Wait(Instant time) {
    now_ += time;
    return *this;
  }
  Log& Disturbed(Instant time) {
    history.disturbances.push_back({now_, now_ + time, "a fault"});
    return Wait(time);
  }

  std::vector<Finding> Check(const std::optional<FinalState>& end = std::nullopt) const {
    return verify::Check(history, end, Bounds());
  }
  // Against what is there in the end, whose counts are right.
  std::vector<Finding> CheckEnd(std::set<Pair> likes) const {
    FinalState end;
    end.likes = std::move(likes);
    for (const Pair& pair : end.likes) ++end.counts[pair.item];
    return Check(end);
  }

  History history;

 private:
  Instant Next() { return now_ += 2000; }

  Instant now_ = 100 * kSecond;
};

std::vector<FindingKind> KindsOf(const std::vector<Finding>& findings) {
  std::vector<FindingKind> kinds;
  for (const Finding& finding : findings) kinds.push_back(finding.kind);
  return kinds;
}

using Kinds = std::vector<FindingKind>;

TEST_CASE("A log of a service that keeps its word has no finding") {
  Log log;
  log.NotLiked().Liked(kPair, 1).Count(1).HasLiked(true).AlreadyLiked().Liked(kOther, 2).Count(2);
  log.Unliked(1).NotLiked().Count(1).HasLiked(false).Liked(kPair, 2).Unliked();
  CHECK(log.CheckEnd({kOther}).empty());
}

TEST_CASE("A like that was acknowledged and is not there in the end is lost") {
  CHECK(KindsOf(Log().Liked().CheckEnd({})) == Kinds{FindingKind::kLost});
  CHECK(KindsOf(Log().Liked().AlreadyLiked().CheckEnd({})) == Kinds{FindingKind::kLost});
}

TEST_CASE("A like that an unlike no longer finds is lost") {
  CHECK(KindsOf(Log().Liked().NotLiked().Check()) == Kinds{FindingKind::kLost});
}

TEST_CASE("A like that is there in the end and was taken back, or never made, is unexpected") {
  CHECK(KindsOf(Log().Liked().Unliked().CheckEnd({kPair})) == Kinds{FindingKind::kUnexpected});
  CHECK(KindsOf(Log().Liked().CheckEnd({kPair, kOther})) == Kinds{FindingKind::kUnexpected});
  CHECK(KindsOf(Log().AlreadyLiked().Check()) == Kinds{FindingKind::kUnexpected});
}

TEST_CASE("Two LIKED without an UNLIKED between them are duplicated, and so the other way round") {
  CHECK(KindsOf(Log().Liked().Liked().CheckEnd({kPair})) == Kinds{FindingKind::kDuplicated});
  CHECK(KindsOf(Log().Liked().Unliked().Unliked().CheckEnd({})) == Kinds{FindingKind::kDuplicated});
  CHECK(KindsOf(Log().Unliked().Check()) == Kinds{FindingKind::kDuplicated});
}

TEST_CASE(
    "After a fault the log is judged by what was answered last, so one fault is one finding") {
  CHECK(Log().Liked().Liked().AlreadyLiked().Unliked().Liked().CheckEnd({kPair}).size() == 1);
}

TEST_CASE("A refusal that is marked as not applied changes nothing") {
  Log log;
  log.Write(kPair, Act::kLike, Outcome::kNotApplied);
  CHECK(log.CheckEnd({}).empty());
  CHECK(KindsOf(log.CheckEnd({kPair})) == Kinds{FindingKind::kUnexpected});
}

TEST_CASE("A like of unknown outcome may be there or not, then and at any time later") {
  Log log;
  log.Write(kPair, Act::kLike, Outcome::kUnknown);
  CHECK(log.CheckEnd({}).empty());
  CHECK(log.CheckEnd({kPair}).empty());
  // It came to be applied between the two.
  log.NotLiked().AlreadyLiked();
  CHECK(log.Check().empty());
  // It is used up now.
  log.Unliked().AlreadyLiked();
  CHECK(KindsOf(log.Check()) == Kinds{FindingKind::kUnexpected});
}

TEST_CASE("An unlike of unknown outcome explains one LIKED after another, and no third") {
  Log log;
  log.Liked().Write(kPair, Act::kUnlike, Outcome::kUnknown).Liked();
  CHECK(log.Check().empty());
  CHECK(log.Liked().Check().size() == 1);
}

TEST_CASE("Any number of calls of unknown outcome leaves everything open") {
  Log log;
  for (int i = 0; i < 50; ++i)
    log.Write(kPair, i % 2 == 0 ? Act::kLike : Act::kUnlike, Outcome::kUnknown);
  log.Liked().Liked().Unliked().Unliked().AlreadyLiked().NotLiked();
  CHECK(log.CheckEnd({}).empty());
  CHECK(log.CheckEnd({kPair}).empty());
}

TEST_CASE("A count that is not what the likes add up to is drift, and so is what an audit says") {
  const Log log = Log().Liked();
  FinalState end;
  end.likes = {kPair};
  end.counts = {{kPair.item, 2}};
  CHECK(KindsOf(log.Check(end)) == Kinds{FindingKind::kDrift});
  end.counts = {};
  CHECK(KindsOf(log.Check(end)) == Kinds{FindingKind::kDrift});
  end.counts = {{kPair.item, 1}};
  CHECK(log.Check(end).empty());
  end.counts[99] = 1;
  CHECK(KindsOf(log.Check(end)) == Kinds{FindingKind::kDrift});
  end.counts.erase(99);
  end.drifts = {"the digest of item 7"};
  CHECK(KindsOf(log.Check(end)) == Kinds{FindingKind::kDrift});
}

TEST_CASE("A reply whose count was true at no instant of its call is found") {
  CHECK(KindsOf(Log().Liked(kPair, 2).Check()) == Kinds{FindingKind::kUntrue});
  CHECK(KindsOf(Log().Liked(kPair, 1).Unliked(-1).Liked(kPair, 2).Check()) ==
        Kinds{FindingKind::kUntrue});
  CHECK(Log().Liked(kPair, 1).Liked(kOther, 2).Unliked(1).Check().empty());
}

TEST_CASE("A strong read sees what was acknowledged before it began") {
  CHECK(KindsOf(Log().Liked().Count(0).Check()) == Kinds{FindingKind::kUntrue});
  CHECK(KindsOf(Log().Liked().HasLiked(false).Check()) == Kinds{FindingKind::kUntrue});
  CHECK(KindsOf(Log().Liked().Unliked().HasLiked(true).Check()) == Kinds{FindingKind::kUntrue});
}

TEST_CASE("A read during a write may see either side of it") {
  Log log;
  log.Liked(kPair, 1);
  const Instant during = log.history.writes[0].begin + 500;
  for (const int64_t count : {0, 1, 2})
    log.history.count_reads.push_back({kPair.item, count, Freshness::kStrong, during, during + 1});
  const std::vector<Finding> findings = log.Check();
  REQUIRE(findings.size() == 1);
  CHECK(absl::StrContains(findings[0].what, "count 2"));
}

TEST_CASE("A cached read may be as old as its bound, and no older") {
  const auto read_after = [](Instant time) {
    return Log()
        .Liked()
        .Wait(time)
        .Count(0, Freshness::kCached)
        .HasLiked(false, Freshness::kCached);
  };
  CHECK(read_after(kSecond / 2).Check().empty());
  CHECK(KindsOf(read_after(2 * kSecond).Check()) ==
        Kinds{FindingKind::kUntrue, FindingKind::kUntrue});
}

TEST_CASE("After a disturbance cached reads may be as old as it is, until all is healed") {
  const auto read_after = [](Instant time) {
    return Log().Liked().Disturbed(3 * kSecond).Wait(time).Count(0, Freshness::kCached);
  };
  CHECK(read_after(4 * kSecond).Check().empty());
  CHECK(KindsOf(read_after(7 * kSecond).Check()) == Kinds{FindingKind::kUntrue});
  // What changed before it must show.
  Log log = Log().Liked().Wait(5 * kSecond).Disturbed(kSecond).Count(0, Freshness::kCached);
  CHECK(KindsOf(log.Check()) == Kinds{FindingKind::kUntrue});
}

TEST_CASE("A cached count that never was is found, however long the disturbance") {
  Log log = Log().Liked().Disturbed(60 * kSecond).Count(3, Freshness::kCached);
  CHECK(KindsOf(log.Check()) == Kinds{FindingKind::kUntrue});
}

TEST_CASE("A finding can be read: the log of its pair has each call, in order") {
  Log log;
  log.Liked(kPair, 1).HasLiked(true).Liked(kOther).Unliked();
  const std::string text = LogOf(log.history, kPair, 100 * kSecond);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(text.find("LIKED, count 1") < text.find("HasLiked strong: liked"));
  CHECK(text.find("HasLiked strong: liked") < text.find("UNLIKED"));
}

// A service of a few pairs that keeps the contract: calls take effect at an instant of theirs or,
// if their outcome is unknown, now, later or never.
class Service {
 public:
  explicit Service(uint64_t seed) : random_(seed) {}

  History Run(int calls) {
    History history;
    for (int i = 0; i < calls; ++i) {
      const Instant begin = now_;
      now_ += 1 + static_cast<Instant>(random_() % 3000);
      ApplySomeLate();
      const Pair pair = {1 + static_cast<int64_t>(random_() % 6), 7};
      const Act act = random_() % 2 == 0 ? Act::kLike : Act::kUnlike;
      WriteRecord write = {pair, act, Outcome::kUnknown, begin, now_};
      switch (random_() % 8) {
        case 0:
          if (random_() % 2 == 0) late_.push_back(write);
          break;
        case 1:
          write.outcome = Outcome::kNotApplied;
          break;
        default:
          write.outcome = Apply(write) ? Outcome::kChanged : Outcome::kUnchanged;
          write.count = static_cast<int64_t>(likes.size());
      }
      history.writes.push_back(write);
      const Instant read_from = now_;
      ApplySomeLate();
      now_ += 10;
      history.count_reads.push_back(
          {7, static_cast<int64_t>(likes.size()), Freshness::kStrong, read_from, now_});
      history.pair_reads.push_back(
          {pair, likes.count(pair) > 0, Freshness::kStrong, read_from, now_});
    }
    return history;
  }

  std::set<Pair> likes;

 private:
  bool Apply(const WriteRecord& write) {
    return write.act == Act::kLike ? likes.insert(write.pair).second : likes.erase(write.pair) > 0;
  }
  void ApplySomeLate() {
    while (!late_.empty() && random_() % 3 == 0) {
      Apply(late_.back());
      late_.pop_back();
    }
  }

  std::mt19937_64 random_;
  Instant now_ = 100 * kSecond;
  std::vector<WriteRecord> late_;
};

TEST_CASE("Random services that keep the contract have no finding, and liars have one") {
  const char* given = std::getenv("COUNTER_TEST_SEED");
  const uint64_t first =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  for (uint64_t seed = first; seed < first + 300; ++seed) {
    INFO("COUNTER_TEST_SEED=" << seed);
    Service service(seed);
    History history = service.Run(60);
    FinalState end;
    end.likes = service.likes;
    if (!end.likes.empty()) end.counts[7] = static_cast<int64_t>(end.likes.size());
    const std::vector<Finding> findings = Check(history, end, Bounds());
    const std::string first_finding =
        findings.empty() ? "" : findings[0].what + "\n" + LogOf(history, findings[0].pair, 0);
    REQUIRE(first_finding.empty());
    // A seventh liker whom nobody knows of.
    end.likes.insert({7, 7});
    REQUIRE_FALSE(Check(history, end, Bounds()).empty());
    history.count_reads.push_back(
        {7, 7, Freshness::kStrong, 100 * kSecond, history.writes.back().end});
    REQUIRE_FALSE(Check(history, std::nullopt, Bounds()).empty());
  }
}

}  // namespace
}  // namespace counter::verify
