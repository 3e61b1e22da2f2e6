#include "storage/postgres/errands.h"

#include <utility>

#include "base/error.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

}  // namespace

Errands::Errands(boost::asio::io_context& loop, Link::Options link, int waiting_max)
    : waiting_max_(waiting_max), link_(loop, std::move(link), *this) {}

bool Errands::Push(std::vector<StatementCall> calls, const CallLimits& limits, Done& done) {
  if (errands_.size() >= static_cast<size_t>(waiting_max_)) return false;
  Errand errand;
  errand.calls = std::move(calls);
  errand.limits = limits;
  errand.done = std::move(done);
  errands_.push_back(std::move(errand));
  Pump();
  return true;
}

void Errands::Pump() {
  if (in_flight_ || !link_.ready() || errands_.empty()) return;
  Errand& errand = errands_.front();
  errand.sent = true;
  in_flight_ = true;
  link_.Send(std::move(errand.calls), [this](UnitReply reply) { Ended(std::move(reply)); });
}

void Errands::Ended(UnitReply reply) {
  in_flight_ = false;
  if (!errands_.empty() && errands_.front().sent) {
    Errand errand = std::move(errands_.front());
    errands_.pop_front();
    if (reply.fate == UnitFate::kCommitted) {
      errand.done(std::move(reply.tables));
    } else {
      errand.done(ToStatus(reply.error));
    }
  }
  Pump();
}

void Errands::DropUnwanted() {
  const MonotonicTime now = Now();
  std::list<Errand> dropped;
  for (auto errand = errands_.begin(); errand != errands_.end();) {
    const auto at = errand++;
    if (at->limits.expired(now) || at->limits.cancellation.cancelled())
      dropped.splice(dropped.end(), errands_, at);
  }
  for (Errand& errand : dropped) {
    errand.done(errand.limits.cancellation.cancelled()
                    ? MakeError(ErrorReason::kCancelled, "the caller went away")
                    : MakeError(ErrorReason::kDeadlineExceeded,
                                "the store did not come to its end before the deadline"));
  }
}

void Errands::FailAll(const absl::Status& error) {
  for (Errand& errand : std::exchange(errands_, {})) errand.done(error);
}

void Errands::LinkReady(Link&) { Pump(); }
void Errands::LinkDown(Link&) {}

}  // namespace counter::postgres
