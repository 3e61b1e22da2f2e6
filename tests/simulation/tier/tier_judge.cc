#include "tests/simulation/tier/tier_judge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace counter::simulation::tier {
namespace {

using Source = ShownCount::Source;

// docs/contract.md: the bounds of CONSISTENCY_CACHED, and of following a failover.
constexpr absl::Duration kBoundCalm = absl::Seconds(1);
constexpr absl::Duration kBoundLossy = absl::Seconds(5);
constexpr absl::Duration kFollowsWithin = absl::Seconds(5);
// The primary is asked again for so long for what it does not show yet.
constexpr absl::Duration kAsksAgainFor = absl::Seconds(1);

absl::string_view NameOf(Source source) {
  constexpr absl::string_view kNames[] = {"near cache", "cache", "replica", "primary"};
  return kNames[static_cast<size_t>(source)];
}

}  // namespace

void TierJudge::Violate(absl::string_view what, int item) {
  std::string& violation = world_.outcome.violation;
  if (violation.empty()) violation = absl::StrCat(what, ", item ", item);
  world_.Note([&] { return absl::StrCat("VIOLATED: ", what, ", item ", item); });
}

absl::Duration TierJudge::bound() const {
  return world_.faults.losses || world_.faults.crashes || world_.faults.failovers ? kBoundLossy
                                                                                  : kBoundCalm;
}

// ---- Reads -------------------------------------------------------------------------------------

void TierJudge::Shown(const BegunRead& read, const ShownCount& shown) {
  world_.Note([&] {
    return absl::StrCat("server ", read.server, read.is_strong ? " strongly" : "", " shows ",
                        read.item, ": ", shown.count, " at ", shown.version, " from the ",
                        NameOf(shown.source), ", as of ",
                        absl::FormatDuration(SinceBegin(shown.as_of)), ", token ", read.token);
  });
  Outcome& outcome = world_.outcome;
  ++(shown.source == Source::kPrimary   ? outcome.from_primary
     : shown.source == Source::kReplica ? outcome.from_replica
                                        : outcome.from_cache);
  const int number = shown.version == 0 ? kNone : world_.database.Find(read.item, shown.version);
  const int64_t stored = number == kNone ? 0 : world_.database.record(number).count;
  if (shown.count != stored || (number == kNone && shown.version != 0))
    return Violate("a count was shown that was never stored", read.item);
  CheckToken(read, shown);
  if (shown.source == Source::kPrimary) CheckPrimary(read, shown);
  Require(!read.is_strong || shown.source == Source::kPrimary,
          "a strong read was not answered by the primary", read.item);
  if (number != kNone && !world_.database.record(number).is_kept())
    return CheckOfLost(read, shown, world_.database.record(number));

  const absl::Duration as_of = SinceBegin(shown.as_of);
  Require(shown.version >= world_.database.AcknowledgedBefore(read.item, as_of),
          "an answer misses what was acknowledged before its as_of_time", read.item);
  if (shown.source == Source::kReplica) CheckReplica(read, shown);
  if (shown.source == Source::kCache || shown.source == Source::kNear)
    CheckCache(read, shown, number);
}

// A server that follows the new primary shows nothing that was lost; one that does not know of it
// yet has 5 s.
void TierJudge::CheckOfLost(const BegunRead& read, const ShownCount& shown, const Record& record) {
  switch (shown.source) {
    case Source::kPrimary:
      // An answer may have been on its way.
      return Require(read.began_at <= record.lost_at, "the primary shows what a failover has lost",
                     read.item);
    case Source::kReplica:
      // One that was left behind is not fresh for longer than this.
      return Require(read.server_timeline < world_.database.timeline() &&
                         read.began_at <= record.lost_at + kLagMax,
                     "a replica shows what a failover has lost", read.item);
    case Source::kCache:
      // A server that was started after the failover serves when it knows of it.
      return Require(!read.knew_failover && shown.started_at <= record.lost_at &&
                         read.began_at <= record.lost_at + kFollowsWithin,
                     "the cache shows what a failover has lost", read.item);
    case Source::kNear:
      return Require(read.began_at <= record.lost_at + kFollowsWithin &&
                         (!read.knew_failover || read.began_at <= shown.noted_at + kNearStale),
                     "the near cache shows what a failover has lost", read.item);
  }
}

void TierJudge::CheckToken(const BegunRead& read, const ShownCount& shown) {
  if (read.token == kNone) return;
  const Record& token = world_.database.record(read.token);
  ++world_.outcome.with_token;
  if (read.token_timeline != read.server_timeline) {
    // Of another history than the server's: the read is strong, and the primary's answer final.
    return Require(shown.source == Source::kPrimary,
                   "a token of another history did not make the read strong", read.item);
  }
  if (!token.is_kept()) {
    ++world_.outcome.with_token_of_lost;
    return;
  }
  // A standby may have shown what the primary does not show yet: then its answer is final, as it is
  // for those who ask while it goes.
  const absl::Duration asked_until = read.began_at + kAsksAgainFor;
  if (token.visible_at > asked_until) return;
  if (token.visible_at >= read.began_at && shown.last_broken_at >= read.began_at) return;
  Require(shown.version >= token.version, "a read is older than its token", read.item);
}

// Any answer of the primary has what was acknowledged before it was asked; a strong one, what was
// acknowledged before the call.
void TierJudge::CheckPrimary(const BegunRead& read, const ShownCount& shown) {
  world_.outcome.strong += read.is_strong ? 1 : 0;
  const bool is_old = world_.answering_node != world_.database.primary();
  if (is_old && read.began_at <= world_.database.began()) return;  // It was on its way.
  Require(!is_old || !read.is_strong, "a strong read was answered by a primary that was given up",
          read.item);
  Require(shown.version >= world_.database.AcknowledgedBefore(read.item, read.began_at),
          "the primary's answer misses a write that was acknowledged before the read", read.item);
}

void TierJudge::CheckReplica(const BegunRead& read, const ShownCount& shown) {
  // It may have waited for the primary's answer to the other item of the read.
  const absl::Duration shown_at = std::min(world_.now(), read.began_at);
  Require(shown.version >= world_.database.VersionAt(read.item, shown_at - kLagMax),
          "a replica's answer is further behind than the bound", read.item);
}

void TierJudge::CheckCache(const BegunRead& read, const ShownCount& shown, int number) {
  const size_t item = Index(read.item);
  const Database& database = world_.database;
  const bool is_of_replica = shown.origin.is_of_replica && read.began_at <= shown.origin.until;
  if (is_of_replica) {
    Require(shown.version >= database.VersionAt(read.item, shown.origin.fresh_at),
            "a cached count of a replica is older than its bound", read.item);
  } else if (read.began_at >= excused_until_[item]) {
    Require(shown.version >= database.VersionAt(read.item, read.began_at - bound()),
            "what is shown is older than the bound", read.item);
  }
  // After an eviction a replica may fill in what is older, for as long as such a fill lives.
  if (is_of_replica) return;
  if (told_[item] != kNone && !has_near_)
    Require(shown.version >= database.record(told_[item]).version,
            "a write that the cache has acknowledged is not shown", read.item);
  for (int server = 0; server < kServers; ++server) {
    // Where servers have memories of their own, others may be behind for as long as those last, and
    // know of what has not reached the shared cache.
    const bool is_others = has_near_ && server != read.server;
    for (const Seen& seen : seen_[static_cast<size_t>(server)][item]) {
      if (is_others && (seen.is_near || seen.at > read.began_at - kNearStale)) continue;
      Require(shown.version >= database.record(seen.record).version, "what is shown went back",
              read.item);
    }
  }
  // What a standby showed before the primary does is not there for good yet.
  if (number == kNone || database.record(number).visible_at > read.began_at) return;
  std::vector<Seen>& seen = seen_[static_cast<size_t>(read.server)][item];
  if (seen.empty() || database.record(seen.back().record).version < shown.version)
    seen.push_back({number, world_.now(), shown.source == Source::kNear});
}

// ---- Writes and failovers ----------------------------------------------------------------------

void TierJudge::Acknowledged(int number, int node, absl::Duration began_at) {
  Record& record = world_.database.record(number);
  record.acknowledged_at = world_.now();
  world_.Note([&] { return absl::StrCat("record ", number, " is acknowledged"); });
  const bool was_on_its_way = began_at <= world_.database.began();
  Require(node == world_.database.primary() || was_on_its_way,
          "a write was acknowledged by a primary that was given up", record.item);
  if (!record.is_kept()) {
    Require(!world_.is_synchronous, "a synchronous failover has lost an acknowledged write",
            record.item);
  }
}

void TierJudge::Told(int number) {
  const Record& record = world_.database.record(number);
  int& told = told_[Index(record.item)];
  if (!record.is_kept()) return;
  if (told == kNone || world_.database.record(told).version < record.version) told = number;
}

void TierJudge::Taken(int item, int64_t version) {
  int& taken = taken_[Index(item)];
  const std::vector<Record>& records = world_.database.records();
  for (size_t i = 0; i < records.size(); ++i) {
    // Of what a standby shows before the primary does the cache is told once more.
    if (records[i].item != item || !records[i].is_kept() || records[i].visible_at > world_.now())
      continue;
    if (records[i].version > version) continue;
    if (taken == kNone || records[static_cast<size_t>(taken)].version < records[i].version)
      taken = static_cast<int>(i);
  }
}

// What lacks a write that the cache was told of will not be told of it again: it must not stay.
void TierJudge::Stands(int item, int64_t version, absl::Duration until) {
  const int taken = taken_[Index(item)];
  if (taken == kNone || until <= world_.now() + kReplicaFillLife) return;
  const int number = world_.database.Find(item, version);
  if (number != kNone && !world_.database.record(number).is_kept()) return;
  Require(version >= world_.database.record(taken).version,
          "what lacks a write that the cache was told of is to stay", item);
}

void TierJudge::DeletesRow(int number) {
  const Record& record = world_.database.record(number);
  const int taken = taken_[Index(record.item)];
  Require(taken != kNone && world_.database.record(taken).version >= record.version,
          "a row of the outbox was deleted though nobody has told the cache", record.item);
}

void TierJudge::Crashed(int server) {
  // Its own memory is gone.
  for (std::vector<Seen>& seen : seen_[static_cast<size_t>(server)])
    std::erase_if(seen, [](const Seen& one) { return one.is_near; });
}

void TierJudge::FailedOver() {
  ++world_.outcome.failovers;
  const Database& database = world_.database;
  for (const Record& record : database.records()) {
    if (record.lost_at != world_.now() || record.acknowledged_at > world_.now()) continue;
    ++world_.outcome.lost;
    Require(!world_.is_synchronous, "a synchronous failover has lost an acknowledged write",
            record.item);
  }
  // What was lost has not been shown, for what comes now.
  for (int item = 0; item < kItems; ++item) {
    for (auto& of_server : seen_) {
      std::erase_if(of_server[Index(item)],
                    [&](const Seen& seen) { return !database.record(seen.record).is_kept(); });
    }
    int& told = told_[Index(item)];
    if (told != kNone && !database.record(told).is_kept()) told = kNone;
    // Of the writes that the cache was told of the newest that was kept.
    int& taken = taken_[Index(item)];
    if (taken != kNone && !database.record(taken).is_kept()) taken = kNone;
  }
}

void TierJudge::AtRest(int item, int64_t version) {
  world_.Note([&] {
    return absl::StrCat("the cache has ", item, " at ", version, ", the store at ",
                        world_.database.VersionAt(item, world_.now()));
  });
  if (excused_until_[Index(item)] > world_.now()) return;
  Require(version == world_.database.VersionAt(item, world_.now()),
          "at rest the cache is behind the store", item);
}

}  // namespace counter::simulation::tier
