#include "clients/cpp/watch_state.h"

#include <algorithm>

namespace counter::client {

std::vector<std::string> WatchState::Begin() {
  has_resumed_ = !begins_anew_;
  // Of an item the newest counts, so that it does no harm to send older ones.
  std::vector<std::string> tokens;
  for (const auto& [item, token] : newest_) tokens.push_back(token);
  tokens.insert(tokens.end(), given_.begin(), given_.end());
  // Too many are refused, but not once the caller's own were taken.
  if (has_stood_ && tokens.size() > kTokensMax) tokens.resize(kTokensMax);
  return tokens;
}

std::optional<CountsUpdate> WatchState::Take(CountsUpdate message) {
  for (const ItemCount& count : message.counts)
    newest_[{count.item.type, count.item.id}] = count.consistency_token;
  has_stood_ = true;
  begins_anew_ = false;
  pause_ = absl::ZeroDuration();
  if (message.snapshot && has_resumed_) {
    if (message.counts.empty()) return std::nullopt;
    message.snapshot = false;
  }
  return message;
}

std::optional<absl::Duration> WatchState::PauseAfter(const Error& error) {
  if (!resumes_) return std::nullopt;
  if (error.kind == ErrorKind::kOutOfRange) {
    if (given_.empty() && newest_.empty()) return std::nullopt;
    given_.clear();
    newest_.clear();
    begins_anew_ = true;
  } else if (!has_stood_ ||
             (error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kOverloaded)) {
    return std::nullopt;
  }
  pause_ = std::clamp(2 * pause_, kPauseFirst, kPauseMax);
  const absl::Duration pause = pause_ * std::uniform_real_distribution<>(0.8, 1.2)(random_);
  return std::max(pause, error.retry_after.value_or(absl::ZeroDuration()));
}

}  // namespace counter::client
