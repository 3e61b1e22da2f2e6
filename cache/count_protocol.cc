#include "cache/count_protocol.h"

#include <algorithm>

namespace counter {
namespace {

using Effect = CountPutStep::Effect;

CountCell ValueOf(const CountEntry& entry) {
  CountCell cell;
  cell.kind = CountCell::Kind::kValue;
  cell.version = entry.version;
  cell.count = entry.count;
  cell.read_at = entry.read_at;
  return cell;
}

CountPutStep PutOnLease(const CountCell& lease, const CountPut& put) {
  if (put.token == lease.token) {
    // Below the minimum the fill has read the store before a write that this lease was told of.
    // What that write put is not known any more, so nobody may be told anything.
    if (put.entry.version < lease.version) return {Effect::kDroppedLease, CountCell{}};
    return {Effect::kStored, ValueOf(put.entry)};
  }
  if (put.entry.version <= lease.version) return {Effect::kNothing, lease};
  CountCell raised = lease;
  raised.version = put.entry.version;
  return {Effect::kRaisedMinimum, raised};
}

CountPutStep PutOnValue(const CountCell& value, const CountPut& put) {
  if (put.entry.version > value.version) return {Effect::kStored, ValueOf(put.entry)};
  if (put.entry.version < value.version || put.entry.read_at <= value.read_at) {
    return {Effect::kNothing, value};
  }
  CountCell refreshed = value;
  refreshed.read_at = put.entry.read_at;
  return {Effect::kRefreshed, refreshed};
}

}  // namespace

CountGetStep StepGet(const CountCell& cell, FillToken fresh_token) {
  if (cell.kind == CountCell::Kind::kValue) return {CountLookup::Kind::kHit, cell};
  if (cell.kind == CountCell::Kind::kLease) return {CountLookup::Kind::kMiss, cell};
  CountCell lease;
  lease.kind = CountCell::Kind::kLease;
  lease.token = fresh_token;
  return {CountLookup::Kind::kLease, lease};
}

CountPutStep StepPut(const CountCell& cell, const CountPut& put) {
  switch (cell.kind) {
    case CountCell::Kind::kAbsent:
      // Nothing, ever: a read that began before this put may still be on its way, and only a lease
      // that it does not hold can keep it out.
      return {Effect::kNothing, cell};
    case CountCell::Kind::kLease:
      return PutOnLease(cell, put);
    case CountCell::Kind::kValue:
      return PutOnValue(cell, put);
  }
  return {Effect::kNothing, cell};
}

absl::Duration LifeAfterPut(const CountCell& before, CountPutStep::Effect effect,
                            absl::Duration left, absl::Duration life) {
  if (before.kind != CountCell::Kind::kValue) return life;
  // Where all values end as soon there is nothing to be kept short.
  if (left <= kReplicaFillLife && life > 2 * kReplicaFillLife) return left;
  // To see the same value again cannot shorten its life, whatever the jitter says.
  return effect == Effect::kRefreshed ? std::max(left, life) : life;
}

absl::Duration CountLife(absl::Duration ttl, absl::Duration age, uint64_t random) {
  const double unit = static_cast<double>(random >> 11) * 0x1.0p-53;  // In [0, 1).
  const double factor = 1 - kCountTtlJitter + 2 * kCountTtlJitter * unit;
  // An age below zero is a clock that jumped: the value is taken for new.
  const absl::Duration since_read = std::max(age, absl::ZeroDuration());
  return std::max(ttl * factor - since_read, absl::ZeroDuration());
}

}  // namespace counter
