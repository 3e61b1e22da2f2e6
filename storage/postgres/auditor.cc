#include "storage/postgres/auditor.h"

#include <utility>

#include "base/error.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

}  // namespace

Auditor::Auditor(boost::asio::io_context& loop, const Options& options, Link::Options link)
    : options_(options), link_(loop, std::move(link), *this) {}

bool Auditor::Push(const std::optional<Item>& after, int items_max, const CallLimits& limits,
                   Done& done) {
  if (audits_.size() >= static_cast<size_t>(options_.waiting_max)) return false;
  Audit audit;
  audit.after = after;
  audit.items_max = items_max;
  audit.limits = limits;
  audit.done = std::move(done);
  audits_.push_back(std::move(audit));
  Pump();
  return true;
}

void Auditor::Pump() {
  if (in_flight_ || !link_.ready() || audits_.empty()) return;
  Audit& audit = audits_.front();
  audit.sent = true;
  in_flight_ = true;
  link_.Send(
      {SetForTransaction(options_.statement_timeout, options_.lock_timeout),
       AuditItems(audit.after, audit.items_max)},
      [this, items_max = audit.items_max](const UnitReply& reply) { Ended(reply, items_max); });
}

void Auditor::Ended(const UnitReply& reply, int items_max) {
  in_flight_ = false;
  if (!audits_.empty() && audits_.front().sent) {
    Audit audit = std::move(audits_.front());
    audits_.pop_front();
    if (reply.fate == UnitFate::kCommitted) {
      audit.done(DecodeAudit(reply.tables[1], items_max));
    } else {
      audit.done(ToStatus(reply.error));
    }
  }
  Pump();
}

void Auditor::DropUnwanted() {
  const MonotonicTime now = Now();
  std::list<Audit> dropped;
  for (auto audit = audits_.begin(); audit != audits_.end();) {
    const auto at = audit++;
    if (at->limits.expired(now) || at->limits.cancellation.cancelled())
      dropped.splice(dropped.end(), audits_, at);
  }
  for (Audit& audit : dropped) {
    audit.done(audit.limits.cancellation.cancelled()
                   ? MakeError(ErrorReason::kCancelled, "the caller went away")
                   : MakeError(ErrorReason::kDeadlineExceeded,
                               "the recount did not end before the deadline"));
  }
}

void Auditor::FailAll(const absl::Status& error) {
  for (Audit& audit : std::exchange(audits_, {})) audit.done(error);
}

void Auditor::LinkReady(Link&) { Pump(); }
void Auditor::LinkDown(Link&) {}

}  // namespace counter::postgres
