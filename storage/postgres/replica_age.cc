#include "storage/postgres/replica_age.h"

namespace counter::postgres {

std::optional<std::string> VetoReplica(const SessionFacts& facts, const PrimaryHistory& primary) {
  const SessionFacts& newest = primary.newest();
  if (primary.timeline_number() == 0) return "the primary is not known yet";
  if (facts.system_id != newest.system_id || facts.store_id != newest.store_id)
    return "the replica is of another cluster than the primary";
  if (facts.checkpoint_timeline > primary.timeline_number())
    return "the replica follows another primary";
  return std::nullopt;
}

std::optional<MonotonicTime> ReplicaFreshAt(const ReplicaPosition& position,
                                            const SessionFacts& session,
                                            const PrimaryHistory& primary, const LagMeter& meter) {
  const SessionFacts& newest = primary.newest();
  if (!position.in_recovery || position.timeline != primary.timeline_number() ||
      position.store_id != newest.store_id || session.system_id != newest.system_id) {
    return std::nullopt;
  }
  return meter.FreshAt(position.replayed);
}

}  // namespace counter::postgres
