#include "cache/redis/redis_rate_limiter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cache/redis/key_groups.h"
#include "cache/redis/keys.h"
#include "cache/redis/scripts.h"

namespace counter::redis {
namespace {

// Redis does nothing else while it runs one command: about 5 us a user.
constexpr size_t kUsersPerCall = 100;
constexpr size_t kReplyFieldsPerUser = 3;

// Set in the name of a window of the limiter inside the process. Redis names windows by a time.
constexpr uint64_t kFallbackWindow = uint64_t{1} << 63;

LocalRateLimiterOptions FallbackOptions(const RedisRateLimiterOptions& options) {
  LocalRateLimiterOptions fallback;
  fallback.limit = options.limit;
  fallback.window = options.window;
  fallback.users_max = options.fallback_users_max;
  return fallback;
}

// Whether `reply` is what the script ReserveLikes says of so many users.
bool IsWhole(const Reply& reply, size_t users) {
  const auto is_number = [](const Reply& element) { return element.is_integer(); };
  return reply.is_array() && reply.elements.size() == kReplyFieldsPerUser * users + 1 &&
         std::all_of(reply.elements.begin(), reply.elements.end(), is_number);
}

}  // namespace

RedisRateLimiter::RedisRateLimiter(Channel& channel, const Clock& clock,
                                   RedisRateLimiterOptions options)
    : channel_(channel),
      clock_(clock),
      options_(options),
      fallback_(clock, FallbackOptions(options)) {}

Task<std::vector<LikeGrant>> RedisRateLimiter::Reserve(std::vector<LikeCharge> charges) {
  std::vector<LikeGrant> grants(charges.size());
  if (options_.limit <= 0) {
    for (size_t i = 0; i < charges.size(); ++i) grants[i].granted = charges[i].likes;
    co_return grants;
  }
  const std::vector<std::string> settings = {
      absl::StrCat(options_.limit), absl::StrCat(absl::ToInt64Milliseconds(options_.window))};
  std::vector<std::string> keys;
  keys.reserve(charges.size());
  for (const LikeCharge& charge : charges) keys.push_back(Keys::Rate(charge.user));
  const std::vector<KeyGroup> groups = GroupKeys(keys, channel_.by_slot(), kUsersPerCall);
  std::vector<ScriptCall> calls;
  for (const KeyGroup& group : groups) {
    ScriptCall& call = calls.emplace_back(ScriptCall{{}, settings, group.slot});
    for (const size_t i : group.members) {
      call.keys.push_back(std::move(keys[i]));
      call.args.push_back(absl::StrCat(charges[i].likes));
    }
  }
  Task<Answer> ask = AskScript(channel_, ReserveLikesScript(), std::move(calls),
                               clock_.MonotonicNow() + options_.budget);
  const Answer answer = co_await std::move(ask);

  std::vector<LikeCharge> unanswered;
  std::vector<size_t> unanswered_at;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<size_t>& members = groups[g].members;
    const bool is_answered = answer && IsWhole((*answer)[g], members.size());
    for (size_t m = 0; m < members.size(); ++m) {
      const size_t i = members[m];
      if (is_answered) {
        ReadGrant((*answer)[g].elements, m, grants[i]);
        continue;
      }
      unanswered.push_back(charges[i]);
      unanswered_at.push_back(i);
    }
  }
  if (unanswered.empty()) co_return grants;
  fallbacks_.fetch_add(static_cast<int64_t>(unanswered.size()), std::memory_order_relaxed);
  Task<std::vector<LikeGrant>> fall_back = fallback_.Reserve(std::move(unanswered));
  std::vector<LikeGrant> local = co_await std::move(fall_back);
  for (size_t i = 0; i < local.size(); ++i) {
    local[i].window |= kFallbackWindow;
    grants[unanswered_at[i]] = local[i];
  }
  co_return grants;
}

void RedisRateLimiter::ReadGrant(const std::vector<Reply>& fields, size_t user,
                                 LikeGrant& grant) const {
  const Reply* own = &fields[kReplyFieldsPerUser * user];
  const int64_t ends_at_ms = own[2].integer;
  grant.granted = own[0].integer;
  grant.limit = options_.limit;
  grant.remaining = std::max<int64_t>(options_.limit - own[1].integer, 0);
  grant.resets_after = std::clamp(absl::Milliseconds(ends_at_ms - fields.back().integer),
                                  absl::ZeroDuration(), options_.window);
  grant.window = static_cast<uint64_t>(ends_at_ms);
}

Task<> RedisRateLimiter::GiveBack(std::vector<LikeRefund> refunds) {
  if (options_.limit <= 0) co_return;
  std::vector<LikeRefund> local;
  std::vector<LikeRefund> shared;
  std::vector<std::string> keys;
  for (LikeRefund& refund : refunds) {
    if ((refund.window & kFallbackWindow) != 0) {
      refund.window &= ~kFallbackWindow;
      local.push_back(refund);
      continue;
    }
    shared.push_back(refund);
    keys.push_back(Keys::Rate(refund.user));
  }
  std::vector<ScriptCall> calls;
  for (const KeyGroup& group : GroupKeys(keys, channel_.by_slot(), kUsersPerCall)) {
    ScriptCall& call = calls.emplace_back();
    call.slot = group.slot;
    for (const size_t i : group.members) {
      call.keys.push_back(std::move(keys[i]));
      call.args.push_back(absl::StrCat(shared[i].likes));
      call.args.push_back(absl::StrCat(shared[i].window));
    }
  }
  Task<> give_back = fallback_.GiveBack(std::move(local));
  co_await std::move(give_back);
  // If it is lost the likes count as used until the window ends.
  if (calls.empty()) co_return;
  TellScript(channel_, GiveBackLikesScript(), std::move(calls),
             clock_.MonotonicNow() + options_.budget);
}

}  // namespace counter::redis
