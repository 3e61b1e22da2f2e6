#include "server/check/copy_reader.h"

#include <algorithm>
#include <utility>

#include "server/upkeep/failover_doubt.h"

namespace counter {
namespace {

using Standing = Copy::Standing;

Copy Mute(CopyLayer layer, int replica, Standing standing) {
  return {layer, replica, standing, 0, 0, std::nullopt};
}

}  // namespace

CopyReader::CopyReader(Parts parts, const Options& options)
    : parts_(std::move(parts)),
      options_(options),
      rest_until_(static_cast<size_t>(parts_.copies.replicas())) {}

std::vector<Copy> CopyReader::Unanswered() const {
  std::vector<Copy> copies;
  for (const CheckedCache& cache : parts_.caches)
    copies.push_back(Mute(cache.layer, 0, Standing::kUnanswered));
  for (int replica = 1; replica <= parts_.copies.replicas(); ++replica)
    copies.push_back(Mute(CopyLayer::kReplica, replica, Standing::kUnanswered));
  copies.push_back(Mute(CopyLayer::kPrimary, 0, Standing::kUnanswered));
  copies.push_back(Mute(CopyLayer::kRecount, 0, Standing::kUnanswered));
  return copies;
}

Task<absl::StatusOr<std::vector<std::vector<Copy>>>> CopyReader::Read(std::vector<Item> items,
                                                                      CallLimits limits) {
  std::vector<std::vector<Copy>> copies(items.size());
  for (const CheckedCache& cache : parts_.caches) {
    Task<std::vector<Copy>> read = ReadCache(cache, items);
    const std::vector<Copy> of_cache = co_await std::move(read);
    for (size_t i = 0; i < items.size(); ++i) copies[i].push_back(of_cache[i]);
  }
  for (int replica = 0; replica < parts_.copies.replicas(); ++replica) {
    Task<std::vector<Copy>> read = ReadReplica(replica, items, limits);
    const std::vector<Copy> of_replica = co_await std::move(read);
    for (size_t i = 0; i < items.size(); ++i) copies[i].push_back(of_replica[i]);
  }
  Task<absl::StatusOr<std::vector<RecountedCounter>>> recount =
      parts_.copies.RecountSome(items, options_.recount, limits);
  const absl::StatusOr<std::vector<RecountedCounter>> recounts = co_await std::move(recount);
  if (!recounts.ok()) co_return recounts.status();
  for (size_t i = 0; i < items.size(); ++i) {
    const RecountedCounter& counter = (*recounts)[i];
    const CounterRow& row = counter.stored;
    copies[i].push_back(
        {CopyLayer::kPrimary, 0, Standing::kSays, row.count, row.version, row.digest});
    Copy likes = Mute(CopyLayer::kRecount, 0, Standing::kSkipped);
    if (counter.recounted) {
      likes = {CopyLayer::kRecount, 0, Standing::kSays, counter.count, row.version, counter.digest};
    }
    copies[i].push_back(likes);
  }
  co_return copies;
}

Task<std::vector<Copy>> CopyReader::ReadCache(CheckedCache cache, std::vector<Item> items) {
  Task<std::vector<PeekedCount>> peek = cache.cache->Peek(std::move(items));
  const std::vector<PeekedCount> peeked = co_await std::move(peek);
  const std::optional<Failover> failover = parts_.store.LastFailover();
  std::vector<Copy> copies;
  for (const PeekedCount& one : peeked) {
    Copy& copy = copies.emplace_back(Mute(cache.layer, 0, Standing::kUnanswered));
    const CountEntry& entry = one.entry;
    if (one.kind == PeekedCount::Kind::kNothing) copy.standing = Standing::kAbsent;
    if (one.kind != PeekedCount::Kind::kValue) continue;
    const bool is_doubted = IsCountInDoubt(failover, entry.version, entry.read_at);
    copy.standing = is_doubted ? Standing::kAbsent : Standing::kSays;
    copy.count = entry.count;
    copy.version = entry.version;
  }
  co_return copies;
}

bool CopyReader::IsResting(int replica) {
  MutexLock lock(mutex_);
  return parts_.clock.MonotonicNow() < rest_until_[static_cast<size_t>(replica)];
}

Task<std::vector<Copy>> CopyReader::ReadReplica(int replica, std::vector<Item> items,
                                                CallLimits limits) {
  std::vector<Copy> copies(items.size(),
                           Mute(CopyLayer::kReplica, replica + 1, Standing::kUnanswered));
  if (IsResting(replica)) co_return copies;
  const MonotonicTime now = parts_.clock.MonotonicNow();
  limits.deadline = std::min(limits.deadline, now + options_.replica_budget);
  Task<absl::StatusOr<std::vector<CounterRow>>> read =
      parts_.copies.ReplicaRows(replica, std::move(items), std::move(limits));
  const absl::StatusOr<std::vector<CounterRow>> rows = co_await std::move(read);
  if (!rows.ok()) {
    MutexLock lock(mutex_);
    rest_until_[static_cast<size_t>(replica)] = parts_.clock.MonotonicNow() + options_.replica_rest;
    co_return copies;
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    const CounterRow& row = (*rows)[i];
    copies[i] = {CopyLayer::kReplica, replica + 1, Standing::kSays,
                 row.count,           row.version, row.digest};
  }
  co_return copies;
}

}  // namespace counter
