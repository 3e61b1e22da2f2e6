// Auditor: recounts, one after the other, on a connection of their own.
//
// A recount reads whole tables and may take minutes: no read and no probe should wait behind it.
// Make one when the first audit is asked for.
//
// Threads: everything on the loop's thread. Ownership: it must outlive the run of the loop.
#ifndef COUNTER_STORAGE_POSTGRES_AUDITOR_H_
#define COUNTER_STORAGE_POSTGRES_AUDITOR_H_

#include <list>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "storage/like_store.h"
#include "storage/postgres/link.h"

namespace counter::postgres {

class Auditor final : public Link::Owner {
 public:
  // Called exactly once, never from inside the call that took it.
  using Done = absl::AnyInvocable<void(absl::StatusOr<AuditPage>)>;
  struct Options {
    absl::Duration statement_timeout = absl::Minutes(30);
    absl::Duration lock_timeout = absl::Seconds(1);
    int waiting_max = 16;
  };

  Auditor(boost::asio::io_context& loop, const Options& options, Link::Options link);

  void Start() { link_.Start(); }
  void Stop() { link_.Stop(); }

  // False when too many wait. Requires items_max >= 1.
  bool Push(const std::optional<Item>& after, int items_max, const CallLimits& limits, Done& done);

  // Ends audits that have expired or were cancelled, sent or not.
  void DropUnwanted();
  void FailAll(const absl::Status& error);
  bool idle() const { return audits_.empty(); }
  const Link& link() const { return link_; }

  void LinkReady(Link& link) override;
  void LinkDown(Link& link) override;

 private:
  struct Audit {
    std::optional<Item> after;
    int items_max = 1;
    CallLimits limits;
    Done done;
    bool sent = false;
  };

  void Pump();
  void Ended(const UnitReply& reply, int items_max);

  const Options options_;
  std::list<Audit> audits_;  // The one that was sent, if it is still wanted, is first.
  bool in_flight_ = false;
  Link link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_AUDITOR_H_
