#include "tests/simulation/judge.h"

#include <algorithm>

namespace counter::simulation {

void Judge::Violate(absl::string_view what, absl::Duration now) {
  if (outcome_.violation.empty()) outcome_.violation = std::string(what);
  Note(now, [&] { return absl::StrCat("VIOLATED: ", what); });
}

void Judge::Shown(int item, const CountCell& cell, absl::Duration now) {
  ++outcome_.hits;
  Note(now, [&] { return absl::StrCat("shows ", item, ": ", cell.count, " at ", cell.version); });
  if (!store_.Held(item, cell.version, cell.count)) {
    return Violate(absl::StrCat("a count was shown that was never stored: ", cell.count, " at ",
                                cell.version, ", item ", item),
                   now);
  }
  RequireOf(item, cell.version >= seen_[item], "what is shown went back", now);
  RequireOf(item, cell.version >= acknowledged_[item], "an acknowledged write is not shown", now);
  if (now >= excused_until_[item]) {
    RequireOf(item, cell.version >= store_.VersionAt(item, now - bound_),
              "what is shown is older than the bound", now);
  }
  seen_[item] = std::max(seen_[item], cell.version);
}

void Judge::Acknowledged(int item, int64_t version) {
  acknowledged_[item] = std::max(acknowledged_[item], version);
}

void Judge::Answered(const Call& call, absl::Duration now) {
  const bool was = call.kind == Call::Kind::kLike
                       ? store_.WasLikedSince(call.user, call.item, call.began_at)
                       : store_.WasUnlikedSince(call.user, call.item, call.began_at);
  RequireOf(call.item, was, "an answer says what was not so at any instant of the call", now);
}

void Judge::Excuse(int item, absl::Duration until) {
  excused_until_[item] = std::max(excused_until_[item], until);
}

void Judge::ExcuseAll(absl::Duration until) {
  for (int item = 0; item < kItems; ++item) Excuse(item, until);
}

void Judge::RedisForgot() {
  seen_.fill(0);
  acknowledged_.fill(0);
  for (auto& lost : fact_lost_) lost.fill(true);
}

void Judge::AtRest(const Redis& redis, absl::Duration now) {
  for (int item = 0; item < kItems; ++item) {
    const CountCell cell = redis.Cell(item, now);
    if (cell.kind != CountCell::Kind::kValue) continue;
    Shown(item, cell, now);
    if (excused_until_[item] > now) continue;
    RequireOf(item, cell.version == store_.version(item), "at rest the cache is behind the store",
              now);
  }
  for (int user = 0; user < kUsers; ++user) {
    for (int item = 0; item < kItems; ++item) {
      if (fact_lost_[user][item] || store_.liked(user, item)) continue;
      RequireOf(item, !redis.recent[user].Find(ItemOf(item), Monotonic(now), {}),
                "at rest a like is remembered that has ended", now);
    }
  }
}

}  // namespace counter::simulation
