// Errands: seldom statements that must not stand in the way of likes and reads, one after the
// other, on a connection of their own.
//
// Use one for recounts, which may take minutes, one for the upkeep of the outbox, some for lists.
// Make it when the first errand comes, so that a server that runs none needs no connection for
// them. An errand is a unit, and so a transaction; it is not tried again.
//
// Threads: everything on the loop's thread. Ownership: it must outlive the run of the loop.
#ifndef COUNTER_STORAGE_POSTGRES_ERRANDS_H_
#define COUNTER_STORAGE_POSTGRES_ERRANDS_H_

#include <list>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "storage/postgres/link.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

class Errands final : public Link::Owner {
 public:
  // Called exactly once, never from inside the call that took it. tables[i] is of the i-th call.
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<Table>>)>;

  Errands(boost::asio::io_context& loop, Link::Options link, int waiting_max);

  void Start() { link_.Start(); }
  void Stop() { link_.Stop(); }
  // Gives up the connection, as Link::GiveUp.
  void GiveUp(absl::string_view why) { link_.GiveUp(std::string(why)); }

  // False when too many wait: `done` was not taken. Requires at least one call.
  bool Push(std::vector<StatementCall> calls, const CallLimits& limits, Done& done);

  // Ends errands that have expired or were cancelled, sent or not.
  void DropUnwanted();
  void FailAll(const absl::Status& error);
  void DropIfUnanswered(MonotonicTime now, absl::Duration limit) {
    link_.DropIfUnanswered(now, limit);
  }
  bool idle() const { return errands_.empty(); }
  size_t size() const { return errands_.size(); }  // Taken and not ended.
  const Link& link() const { return link_; }

  void LinkReady(Link& link) override;
  void LinkDown(Link& link) override;

 private:
  struct Errand {
    std::vector<StatementCall> calls;
    CallLimits limits;
    Done done;
    bool sent = false;
  };

  void Pump();
  void Ended(UnitReply reply);

  const int waiting_max_;
  std::list<Errand> errands_;  // The one that was sent, if it is still wanted, is first.
  bool in_flight_ = false;
  Link link_;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_ERRANDS_H_
