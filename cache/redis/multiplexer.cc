#include "cache/redis/multiplexer.h"

#include <algorithm>
#include <utility>

namespace counter::redis {

std::optional<Finished> Multiplexer::Add(Request request) {
  const auto bytes = static_cast<int64_t>(request.commands.bytes().size());
  if (requests() >= bounds_.requests_max || waiting_bytes_ + bytes > bounds_.waiting_bytes_max) {
    return Finished{std::move(request.done), std::nullopt};
  }
  waiting_bytes_ += bytes;
  waiting_.push_back(std::move(request));
  return std::nullopt;
}

std::string Multiplexer::TakeWrite(MonotonicTime now) {
  std::string bytes;
  for (Request& request : waiting_) {
    const int64_t replies = request.commands.count();
    if (bytes.empty()) {
      bytes = request.commands.TakeBytes();
      bytes.reserve(static_cast<size_t>(waiting_bytes_));
    } else {
      bytes += request.commands.bytes();
    }
    sent_.push_back({replies, now, request.deadline, std::move(request.done), {}, 0});
  }
  waiting_.clear();
  waiting_bytes_ = 0;
  return bytes;
}

absl::StatusOr<std::optional<Finished>> Multiplexer::OnReply(Reply reply) {
  if (sent_.empty()) return absl::InternalError("the cache sent a reply that nobody asked for");
  Sent& oldest = sent_.front();
  ++oldest.got_count;
  if (oldest.done) oldest.got.push_back(std::move(reply));
  if (oldest.got_count < oldest.replies) return std::optional<Finished>();

  std::optional<Finished> finished;
  if (oldest.done)
    finished = Finished{std::move(oldest.done), std::move(oldest.got)};
  else
    ++late_answers_;
  sent_.pop_front();
  return finished;
}

std::vector<Finished> Multiplexer::Expire(MonotonicTime now) {
  std::vector<Finished> finished;
  for (Sent& sent : sent_) {
    if (!sent.done || sent.deadline > now) continue;
    finished.push_back({std::move(sent.done), std::nullopt});
    sent.done = nullptr;
    sent.got = {};
  }
  auto expire = [&](Request& request) {
    if (request.deadline > now) return false;
    waiting_bytes_ -= static_cast<int64_t>(request.commands.bytes().size());
    finished.push_back({std::move(request.done), std::nullopt});
    return true;
  };
  std::erase_if(waiting_, expire);
  return finished;
}

std::vector<Finished> Multiplexer::FailAll() {
  std::vector<Finished> finished;
  for (Sent& sent : sent_) {
    if (sent.done) finished.push_back({std::move(sent.done), std::nullopt});
  }
  for (Request& request : waiting_) finished.push_back({std::move(request.done), std::nullopt});
  sent_.clear();
  waiting_.clear();
  waiting_bytes_ = 0;
  return finished;
}

std::optional<MonotonicTime> Multiplexer::NextDeadline() const {
  std::optional<MonotonicTime> next;
  for (const Sent& sent : sent_) {
    if (sent.done && (!next || sent.deadline < *next)) next = sent.deadline;
  }
  for (const Request& request : waiting_) {
    if (!next || request.deadline < *next) next = request.deadline;
  }
  return next;
}

std::optional<MonotonicTime> Multiplexer::OldestSent() const {
  if (sent_.empty()) return std::nullopt;
  return sent_.front().sent_at;
}

}  // namespace counter::redis
