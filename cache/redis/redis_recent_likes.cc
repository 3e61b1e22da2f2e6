#include "cache/redis/redis_recent_likes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cache/redis/count_value.h"
#include "cache/redis/key_groups.h"
#include "cache/redis/scripts.h"
#include "cache/redis/slot.h"

namespace counter::redis {
namespace {

// Redis does nothing else while it runs one command: 5 to 10 us a user.
constexpr size_t kFactsPerCall = 100;
constexpr size_t kMembersPerFind = 1000;
// One that is known costs the others of its group the script.
constexpr size_t kUsersPerLook = 8;

// Facts that make no set: the script takes none of them if nothing is known of their user.
bool IsOfNewLikes(const UserFacts& one) {
  return one.of_write && std::all_of(one.facts.begin(), one.facts.end(),
                                     [](const LikeFact& fact) { return fact.liked; });
}

}  // namespace

RedisRecentLikes::RedisRecentLikes(Channel& channel, const Keys& keys, const Clock& clock,
                                   RedisRecentLikesOptions options)
    : channel_(channel),
      keys_(keys),
      clock_(clock),
      options_(options),
      records_together_([this](std::vector<UserFacts> users, MonotonicTime deadline) {
        return RecordNow(std::move(users), deadline);
      }) {}

Task<std::vector<std::optional<absl::Time>>> RedisRecentLikes::Find(UserId user,
                                                                    std::vector<Item> items) {
  std::vector<std::optional<absl::Time>> found(items.size());
  if (items.empty()) co_return found;
  const std::string key = Keys::RecentLikes(user);
  std::vector<std::string> members;
  members.reserve(items.size());
  for (const Item& item : items) members.push_back(keys_.ItemName(item));
  const int slot = SlotOf(key);
  Commands commands;
  for (size_t first = 0; first < members.size(); first += kMembersPerFind) {
    std::vector<absl::string_view> parts = {"ZMSCORE", key};
    const size_t last = std::min(first + kMembersPerFind, members.size());
    for (size_t i = first; i < last; ++i) parts.emplace_back(members[i]);
    commands.Add(parts, slot);
  }
  Task<Answer> ask = Ask(channel_, std::move(commands), clock_.MonotonicNow() + options_.budget);
  const Answer answer = co_await std::move(ask);
  if (!answer) co_return found;

  const absl::Time now = clock_.WallNow();
  const absl::Time oldest = std::max(now - options_.fresh_for, channel_.believed_since(slot));
  for (size_t i = 0; i < items.size(); ++i) {
    const Reply& scores = (*answer)[i / kMembersPerFind];
    if (!scores.is_array() || scores.elements.size() <= i % kMembersPerFind) continue;
    const Reply& score = scores.elements[i % kMembersPerFind];
    double verified_us = 0;
    if (!score.is_text() || !absl::SimpleAtod(score.text, &verified_us)) continue;
    // Also not a number, and what no clock can say.
    if (!(verified_us >= 0 && verified_us < 9e15)) continue;
    const absl::Time verified_at = absl::FromUnixMicros(static_cast<int64_t>(verified_us));
    if (verified_at >= oldest) found[i] = verified_at;
  }
  co_return found;
}

Task<bool> RedisRecentLikes::Record(std::vector<UserFacts> users) {
  if (users.empty()) co_return true;
  const MonotonicTime deadline = clock_.MonotonicNow() + options_.budget;
  Task<std::vector<char>> record = joins() ? records_together_.Call(std::move(users), deadline)
                                           : RecordNow(std::move(users), deadline);
  const std::vector<char> acknowledged = co_await std::move(record);
  co_return std::find(acknowledged.begin(), acknowledged.end(), 0) == acknowledged.end();
}

Task<std::vector<char>> RedisRecentLikes::RecordNow(std::vector<UserFacts> users,
                                                    MonotonicTime deadline) {
  const size_t told = users.size();
  const bool all_new = std::all_of(users.begin(), users.end(), IsOfNewLikes);
  const bool looks = look_first_.worth() && std::any_of(users.begin(), users.end(), IsOfNewLikes);
  if (looks) {
    Task<bool> look = DropUnknown(users, deadline);
    const bool answered = co_await std::move(look);
    if (!answered) {
      records_lost_.fetch_add(1, std::memory_order_relaxed);
      co_return std::vector<char>(told, 0);
    }
  }
  std::vector<ScriptCall> calls = CallsOf(users);
  const auto count = static_cast<int64_t>(calls.size());
  if (count == 0) co_return std::vector<char>(told, 1);
  Task<Answer> ask = AskScript(channel_, RecordLikesScript(), std::move(calls), deadline);
  const Answer answer = co_await std::move(ask);
  const auto is_done = [](const Reply& reply) { return reply.is_integer(); };
  const bool acknowledged = answer && std::all_of(answer->begin(), answer->end(), is_done);
  if (acknowledged && all_new && !looks) {
    int64_t taken = 0;
    for (const Reply& reply : *answer) taken += reply.integer;
    look_first_.Saw(std::min(static_cast<size_t>(taken), told), told);
  }
  std::atomic<int64_t>& counter = acknowledged ? records_ : records_lost_;
  counter.fetch_add(count, std::memory_order_relaxed);
  co_return std::vector<char>(told, acknowledged ? 1 : 0);
}

// Takes out users of new likes of whom nothing is known, in groups: one who is known keeps the
// others of its group in. False if Redis could not be asked.
Task<bool> RedisRecentLikes::DropUnknown(std::vector<UserFacts>& users, MonotonicTime deadline) {
  std::vector<UserFacts> kept;
  std::vector<UserFacts> looked_at;
  std::vector<std::string> keys;
  for (UserFacts& one : users) {
    const bool is_new = IsOfNewLikes(one);
    if (is_new) keys.push_back(Keys::RecentVersions(one.user));
    (is_new ? looked_at : kept).push_back(std::move(one));
  }
  const std::vector<KeyGroup> groups = GroupKeys(keys, channel_.by_slot(), kUsersPerLook);
  Commands commands;
  for (const KeyGroup& group : groups) {
    std::vector<absl::string_view> parts = {"EXISTS"};
    for (const size_t i : group.members) parts.emplace_back(keys[i]);
    commands.Add(parts, group.slot);
  }
  Task<Answer> ask = Ask(channel_, std::move(commands), deadline);
  const Answer answer = co_await std::move(ask);
  if (!answer) co_return false;

  size_t known = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Reply& there = (*answer)[g];
    if (there.is_integer()) known += static_cast<size_t>(there.integer);
    if (there.is_integer() && there.integer == 0) continue;
    for (const size_t i : groups[g].members) kept.push_back(std::move(looked_at[i]));
  }
  look_first_.Saw(known, looked_at.size());
  users = std::move(kept);
  co_return true;
}

std::vector<ScriptCall> RedisRecentLikes::CallsOf(const std::vector<UserFacts>& users) const {
  const std::vector<std::string> settings = {
      absl::StrCat(absl::ToUnixMicros(clock_.WallNow())),
      absl::StrCat(absl::ToInt64Milliseconds(options_.ttl)),
      absl::StrCat(absl::ToInt64Microseconds(options_.trace_life)),
      absl::StrCat(options_.likes_max), absl::StrCat(options_.traces_max)};
  std::vector<std::string> keys;
  keys.reserve(users.size());
  for (const UserFacts& one : users) keys.push_back(Keys::RecentLikes(one.user));
  std::vector<ScriptCall> calls;
  for (const KeyGroup& group : GroupKeys(keys, channel_.by_slot(), keys.size())) {
    const ScriptCall empty = {{}, settings, group.slot};
    size_t room = 0;  // Facts that the last call still takes.
    for (const size_t i : group.members) AddFacts(users[i], empty, room, calls);
  }
  return calls;
}

void RedisRecentLikes::AddFacts(const UserFacts& one, const ScriptCall& empty, size_t& room,
                                std::vector<ScriptCall>& calls) const {
  const int64_t refused_up_to_us = refused_up_to_us_.load(std::memory_order_relaxed);
  size_t count_at = 0;  // Where the last call says how many facts of this user it has; 0: none.
  int64_t count = 0;
  for (const LikeFact& fact : one.facts) {
    const int64_t verified_us = ToStoredMicros(fact.verified_at);
    if (fact.liked && verified_us <= refused_up_to_us) continue;
    if (room == 0) {
      calls.push_back(empty);
      room = kFactsPerCall;
      count_at = 0;
    }
    std::vector<std::string>& args = calls.back().args;
    if (count_at == 0) {
      std::vector<std::string>& keys = calls.back().keys;
      keys.push_back(Keys::RecentLikes(one.user));
      keys.push_back(Keys::RecentUnlikes(one.user));
      keys.push_back(Keys::RecentVersions(one.user));
      count_at = args.size();
      count = 0;
      args.emplace_back();
      args.emplace_back(one.of_write ? "w" : "r");
    }
    args.push_back(keys_.ItemName(fact.item));
    args.emplace_back(fact.liked ? "1" : "0");
    args.push_back(absl::StrCat(fact.item_version));
    args.push_back(absl::StrCat(verified_us));
    args[count_at] = absl::StrCat(++count);
    --room;
  }
}

void RedisRecentLikes::OnNewRun() {
  refused_up_to_us_.store(ToStoredMicros(clock_.WallNow()), std::memory_order_relaxed);
}

}  // namespace counter::redis
