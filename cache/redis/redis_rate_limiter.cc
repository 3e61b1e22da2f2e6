#include "cache/redis/redis_rate_limiter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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
  std::vector<ScriptCall> calls;
  for (size_t i = 0; i < charges.size(); ++i) {
    if (i % kUsersPerCall == 0) calls.push_back({{}, settings});
    calls.back().keys.push_back(Keys::Rate(charges[i].user));
    calls.back().args.push_back(absl::StrCat(charges[i].likes));
  }
  Task<Answer> ask = AskScript(channel_, ReserveLikesScript(), std::move(calls),
                               clock_.MonotonicNow() + options_.budget);
  const Answer answer = co_await std::move(ask);

  std::vector<LikeCharge> unanswered;
  std::vector<size_t> unanswered_at;
  for (size_t i = 0; i < charges.size(); ++i) {
    const size_t first = i - i % kUsersPerCall;
    const size_t users = std::min(charges.size() - first, kUsersPerCall);
    if (!answer || !IsWhole((*answer)[i / kUsersPerCall], users)) {
      unanswered.push_back(charges[i]);
      unanswered_at.push_back(i);
      continue;
    }
    const std::vector<Reply>& fields = (*answer)[i / kUsersPerCall].elements;
    const Reply* own = &fields[kReplyFieldsPerUser * (i - first)];
    const int64_t ends_at_ms = own[2].integer;
    LikeGrant& grant = grants[i];
    grant.granted = own[0].integer;
    grant.limit = options_.limit;
    grant.remaining = std::max<int64_t>(options_.limit - own[1].integer, 0);
    grant.resets_after = std::clamp(absl::Milliseconds(ends_at_ms - fields.back().integer),
                                    absl::ZeroDuration(), options_.window);
    grant.window = static_cast<uint64_t>(ends_at_ms);
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

Task<> RedisRateLimiter::GiveBack(std::vector<LikeRefund> refunds) {
  if (options_.limit <= 0) co_return;
  std::vector<LikeRefund> local;
  std::vector<ScriptCall> calls;
  size_t shared = 0;
  for (LikeRefund& refund : refunds) {
    if ((refund.window & kFallbackWindow) != 0) {
      refund.window &= ~kFallbackWindow;
      local.push_back(refund);
      continue;
    }
    if (shared++ % kUsersPerCall == 0) calls.emplace_back();
    calls.back().keys.push_back(Keys::Rate(refund.user));
    calls.back().args.push_back(absl::StrCat(refund.likes));
    calls.back().args.push_back(absl::StrCat(refund.window));
  }
  Task<> give_back = fallback_.GiveBack(std::move(local));
  co_await std::move(give_back);
  // If it is lost the likes count as used until the window ends.
  if (calls.empty()) co_return;
  TellScript(channel_, GiveBackLikesScript(), std::move(calls),
             clock_.MonotonicNow() + options_.budget);
}

}  // namespace counter::redis
