#include "storage/postgres/open_calls.h"

#include <iterator>

#include "base/error.h"

namespace counter::postgres {

OpenCalls::Call& OpenCalls::Add(int mutations, CallLimits limits, Resumer<Results> resume) {
  calls_.emplace_back();
  Call& call = calls_.back();
  call.self = std::prev(calls_.end());
  call.results.assign(static_cast<size_t>(mutations), absl::UnknownError("not ended"));
  call.ended.resize(static_cast<size_t>(mutations));
  call.open = mutations;
  call.limits = std::move(limits);
  call.resume = std::move(resume);
  deadlines_.insert({call.limits.deadline, &call});
  return call;
}

void OpenCalls::End(std::vector<EndedMutation> ended) {
  for (EndedMutation& mutation : ended) {
    Call& call = *static_cast<Call*>(mutation.ticket.call);
    EndMutation(call, mutation.ticket.position, std::move(mutation.result));
    if (call.open > 0) continue;
    if (!call.answered) Answer(call, absl::OkStatus());
    calls_.erase(call.self);
  }
}

void OpenCalls::EndMutation(Call& call, int position, absl::StatusOr<Applied> result) {
  const auto at = static_cast<size_t>(position);
  const ErrorReason reason = ReasonOf(result.status());
  if (reason == ErrorReason::kDeadlineExceeded || reason == ErrorReason::kCancelled) ++dropped_;
  if (!result.ok() && observer_ != nullptr) observer_->OnErrors(StoreQueue::kWrites, reason, 1);
  if (!call.answered) call.results[at] = std::move(result);
  call.ended[at] = true;
  --call.open;
}

void OpenCalls::Answer(Call& call, const absl::Status& error) {
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (!call.ended[i]) call.results[i] = error;
  }
  call.answered = true;
  deadlines_.erase({call.limits.deadline, &call});
  Resumer<Results> resume = *std::exchange(call.resume, std::nullopt);
  resume(std::move(call.results));
}

void OpenCalls::AnswerExpired(MonotonicTime now) {
  while (AnyExpired(now)) {
    Answer(
        *deadlines_.begin()->second,
        MakeError(ErrorReason::kDeadlineExceeded,
                  "the store had not answered when the deadline came: applied zero or one time"));
  }
}

void OpenCalls::AnswerAll(const absl::Status& error) {
  while (!deadlines_.empty()) Answer(*deadlines_.begin()->second, error);
}

}  // namespace counter::postgres
