// What reads do: what they ask for, what caches and the store answer, what is filled in.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/consistency_token.h"
#include "server/count_reads.h"
#include "server/item_types.h"
#include "server/request_check.h"
#include "server/upkeep/failover_doubt.h"
#include "tests/simulation/tier/tier.h"

namespace counter::simulation::tier {
namespace {

const ItemTypes& Types() {
  static const ItemTypes types({{"post", ItemType{1}}});
  return types;
}

std::string TimelineOf(int64_t number) { return absl::StrCat("history", number); }

}  // namespace

void Tier::BeginRead() {
  Server& server = *servers_[At(Pick(kServers))];
  if (!server.serves) return;
  const uint64_t mode = world_.Random(10);
  std::vector<int> items = {PickItem()};
  if (!world_.faults.one_item && Chance(20)) items = {0, 1};
  StartRead(server, Pick(kCallers), items, mode == 0, mode > 5);
}

void Tier::StartRead(Server& server, int caller, const std::vector<int>& items, bool strong,
                     bool with_tokens) {
  Read read;
  read.life = server.life;
  read.caller = caller;
  CountsRequest request;
  request.consistency = strong ? 2 : 0;
  const int64_t timeline = server.history.timeline_number();
  for (const int item : items) {
    BegunRead one;
    one.server = server.number;
    one.item = item;
    one.is_strong = strong;
    one.began_at = now();
    one.server_timeline = timeline;
    one.knew_failover = server.knows_failover();
    const KeptToken& kept = tokens_[At(caller)][At(item)];
    if (with_tokens && kept.record != kNone) {
      one.token = kept.record;
      one.token_timeline = kept.timeline;
      const int64_t named = world_.decisions.tokens_name_timeline ? kept.timeline : timeline;
      request.consistency_tokens.push_back(EncodeConsistencyToken(
          ItemOf(item), world_.database.record(kept.record).version, TimelineOf(named)));
    }
    read.items.push_back(one);
  }
  std::vector<ItemRead> reads;
  Consistency consistency = strong ? Consistency::kStrong : Consistency::kCached;
  if (request.consistency_tokens.empty()) {
    for (const int item : items) reads.push_back({ItemOf(item), 0});
  } else {
    for (const int item : items) request.items.push_back({"post", ItemOf(item).id});
    RequestCheck check(Types());
    CheckedRead checked = CheckRead(check, request, TimelineOf(timeline));
    reads = std::move(checked.distinct);
    consistency = checked.consistency;
  }
  Ask(server, std::move(read), std::move(reads), consistency);
}

// As CounterService::ReadCounts.
void Tier::Ask(Server& server, Read read, std::vector<ItemRead> reads, Consistency consistency) {
  std::vector<ItemRead> missing;
  Read open;
  open.life = read.life;
  open.caller = read.caller;
  for (size_t i = 0; i < reads.size(); ++i) {
    ShownCount shown;
    CountLookup lookup;
    if (consistency == Consistency::kCached) lookup = Look(server, read.items[i].item, shown);
    if (AnswersRead(lookup, reads[i].min_version)) {
      shown.count = lookup.entry.count;
      shown.version = lookup.entry.version;
      shown.as_of = lookup.entry.read_at;
      shown.noted_at = server.noted_at;
      shown.started_at = server.started_at;
      judge_.Shown(read.items[i], shown);
      const int record = world_.database.Find(read.items[i].item, shown.version);
      tokens_[At(read.caller)][At(read.items[i].item)] = {record, server.history.timeline_number()};
      continue;
    }
    missing.push_back(reads[i]);
    open.items.push_back(read.items[i]);
    open.tokens.push_back(lookup.token);
  }
  if (missing.empty() || judge_.has_ruled()) return;

  std::vector<ItemRead> asked = missing;
  for (ItemRead& one : asked) {
    if (!world_.decisions.asks_primary_for_token) one.min_version = 0;
    if (world_.decisions.checks_token_of_what_was_read || one.min_version == 0) continue;
    // A question of its own, on whatever connection there is: one that has it will do.
    for (const auto& replica : server.reads.replicas()) {
      const int there = world_.database.Snapshot(replica->node(), IndexOf(one.item), now());
      if (there != kNone && replica->usable(world_.clock.MonotonicNow()) &&
          world_.database.record(there).version >= one.min_version)
        one.min_version = 0;
    }
  }
  CallLimits limits;
  limits.deadline = world_.clock.MonotonicNow() + kDeadline;
  server.reads.Counts(asked, consistency, limits,
                      [this, open = std::move(open), missing](const auto& counts) {
                        OnCounts(open, missing, counts);
                      });
}

void Tier::OnCounts(const Read& read, const std::vector<ItemRead>& asked,
                    const absl::StatusOr<CountsRead>& counts) {
  if (!counts.ok()) return;
  Server& server = *OfLife(read.life);
  for (size_t i = 0; i < asked.size(); ++i) {
    const ItemCount& count = counts->counts[i];
    const int item = read.items[i].item;
    const bool is_of_replica = count.source == ReadSource::kReplica;
    ShownCount shown;
    shown.source = is_of_replica ? ShownCount::Source::kReplica : ShownCount::Source::kPrimary;
    shown.count = count.count;
    shown.version = count.version;
    shown.as_of = counts->as_of;
    shown.last_broken_at = server.last_broken_at;
    judge_.Shown(read.items[i], shown);
    if (count.version != 0) {
      tokens_[At(read.caller)][At(item)] = {world_.database.Find(item, count.version),
                                            server.history.timeline_number()};
    }
    std::optional<CountPut> fill = FillOf(asked[i].item, count, counts->as_of, read.tokens[i]);
    if (!fill.has_value()) continue;
    if (!world_.decisions.replica_fills_are_short) fill->life_max = absl::InfiniteDuration();
    Message message;
    message.kind = Message::Kind::kFill;
    message.put = *fill;
    message.origin.is_of_replica = is_of_replica;
    message.origin.fresh_at = read.items[i].began_at - kLagMax;
    SendPut(server, std::move(message));
  }
}

// ---- Caches ------------------------------------------------------------------------------------

// As NearCountCache::Get.
CountLookup Tier::Look(Server& server, int item, ShownCount& shown) {
  if (!has_near_) return LookFar(server, item, shown);
  KnownCount& known = server.near[At(item)];
  const MonotonicTime at = world_.clock.MonotonicNow();
  CountLookup lookup;
  if (known.Answers(at)) {
    shown.source = ShownCount::Source::kNear;
    shown.origin = server.near_origin[At(item)];
    lookup.kind = CountLookup::Kind::kHit;
    lookup.entry = {ItemOf(item), known.count, known.version, known.read_at};
    return lookup;
  }
  lookup = LookFar(server, item, shown);
  if (lookup.kind != CountLookup::Kind::kHit) return lookup;
  if (!known.Take(lookup.entry, at, NearLife())) return {};
  server.near_origin[At(item)] = shown.origin;
  server.near_origin[At(item)].until += kNearStale;
  return lookup;
}

// As CacheUpkeep::Get.
CountLookup Tier::LookFar(Server& server, int item, ShownCount& shown) {
  CountLookup lookup = GetFromRedis(item, shown);
  const auto is_in_doubt = [&] {
    return world_.decisions.doubts_after_failover && lookup.kind == CountLookup::Kind::kHit &&
           IsCountInDoubt(server.failover, lookup.entry.version, lookup.entry.read_at);
  };
  if (!is_in_doubt()) return lookup;
  ++world_.outcome.doubted;
  world_.Note([&] { return absl::StrCat("the cached count of ", item, " is doubted"); });
  redis_[At(item)] = {};
  lookup = GetFromRedis(item, shown);
  if (is_in_doubt()) lookup.kind = CountLookup::Kind::kMiss;
  return lookup;
}

CountLookup Tier::GetFromRedis(int item, ShownCount& shown) {
  CountLookup lookup;
  if (world_.faults.losses && Chance(3)) return lookup;
  Standing& standing = redis_[At(item)];
  if (standing.ends_at <= now()) standing = {};
  const CountGetStep step = StepGet(standing.cell, ++last_lease_);
  lookup.kind = step.answer;
  if (step.answer == CountLookup::Kind::kLease) {
    standing = {step.cell, now() + kFillLeaseLife, {}};
    lookup.token = last_lease_;
    // The answer is lost: nobody fills.
    if (world_.faults.losses && Chance(3)) return {};
  }
  if (step.answer == CountLookup::Kind::kHit) {
    lookup.entry = {ItemOf(item), step.cell.count, step.cell.version, step.cell.read_at};
    shown.origin = standing.origin;
  }
  return lookup;
}

// A question to a node goes on.
bool Tier::ReadFurther() {
  Server& server = *servers_[At(Pick(kServers))];
  const auto& replicas = server.reads.replicas();
  const int which = Pick(static_cast<int>(replicas.size()) + 1);
  if (which < static_cast<int>(replicas.size()) && replicas[At(which)]->GoOn()) return true;
  if (server.primary.GoOn()) return true;
  for (const auto& replica : replicas)
    if (replica->GoOn()) return true;
  return false;
}

}  // namespace counter::simulation::tier
