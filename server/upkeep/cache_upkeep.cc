#include "server/upkeep/cache_upkeep.h"

#include <algorithm>
#include <utility>

#include "server/upkeep/failover_doubt.h"

namespace counter {
namespace {

// A round is no burst: the store reads so many items at once.
constexpr size_t kItemsPerRead = 500;

}  // namespace

CacheUpkeep::CacheUpkeep(Parts parts, CacheUpkeepOptions options)
    : parts_(parts),
      options_(options),
      match_(options.stale_age, static_cast<size_t>(options.outbox_rows_max)) {}

CacheUpkeep::~CacheUpkeep() { Stop(); }

// ---- What passes through -----------------------------------------------------------------------

Task<std::vector<CountLookup>> CacheUpkeep::Get(std::vector<Item> items) {
  Task<std::vector<CountLookup>> get = parts_.cache.Get(items);
  std::vector<CountLookup> lookups = co_await std::move(get);
  const std::vector<size_t> doubted = InDoubt(lookups);
  if (doubted.empty()) co_return lookups;

  std::vector<Item> evicted;
  for (const size_t place : doubted) evicted.push_back(items[place]);
  {
    MutexLock lock(mutex_);
    stats_.items_doubted += static_cast<int64_t>(evicted.size());
  }
  parts_.cache.Evict(evicted);
  Task<std::vector<CountLookup>> get_again = parts_.cache.Get(std::move(evicted));
  std::vector<CountLookup> again = co_await std::move(get_again);
  // Somebody who has not noticed may have filled it meanwhile.
  for (const size_t place : InDoubt(again)) again[place].kind = CountLookup::Kind::kMiss;
  for (size_t i = 0; i < doubted.size(); ++i) lookups[doubted[i]] = again[i];
  co_return lookups;
}

std::vector<size_t> CacheUpkeep::InDoubt(const std::vector<CountLookup>& lookups) const {
  std::vector<size_t> places;
  const std::optional<Failover> failover = parts_.store.LastFailover();
  if (!failover.has_value()) return places;
  for (size_t i = 0; i < lookups.size(); ++i) {
    const CountLookup& lookup = lookups[i];
    if (lookup.kind == CountLookup::Kind::kHit &&
        IsCountInDoubt(failover, lookup.entry.version, lookup.entry.read_at)) {
      places.push_back(i);
    }
  }
  return places;
}

Task<bool> CacheUpkeep::Put(std::vector<CountPut> puts) {
  std::vector<Item> written_through;
  std::vector<std::pair<Item, int64_t>> versions;
  for (const CountPut& put : puts) {
    if (put.token == 0) written_through.push_back(put.entry.item);
    if (parts_.outbox != nullptr) versions.emplace_back(put.entry.item, put.entry.version);
  }
  Task<bool> put = parts_.cache.Put(std::move(puts));
  const bool acknowledged = co_await std::move(put);
  if (!acknowledged) PutAgain(written_through);
  if (!acknowledged || versions.empty()) co_return acknowledged;

  std::vector<OutboxRow> done;
  {
    MutexLock lock(mutex_);
    for (const auto& [item, version] : versions) match_.Acknowledged(item, version, done);
    stats_.rows_acknowledged += static_cast<int64_t>(done.size());
  }
  for (const OutboxRow& row : done) parts_.outbox->Acknowledge(row);
  co_return true;
}

void CacheUpkeep::BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) {
  MutexLock lock(mutex_);
  match_.Committed(row, changed, parts_.clock.MonotonicNow());
}

void CacheUpkeep::PutAgain(const std::vector<Item>& items) {
  MutexLock lock(mutex_);
  for (const Item& item : items) {
    if (static_cast<int64_t>(owed_.size()) < options_.owed_max)
      owed_.insert(item);
    else if (owed_.count(item) == 0)
      ++stats_.items_forgotten;
  }
  wake_.NotifyAll();
}

// ---- Rounds ------------------------------------------------------------------------------------

Task<bool> CacheUpkeep::Round() {
  Task<bool> put_owed = PutOwed();
  const bool put = co_await std::move(put_owed);
  Task<bool> sweep = Sweep();
  const bool swept = co_await std::move(sweep);
  bool told = true;
  if (parts_.recent_likes != nullptr) {
    Task<bool> tell = parts_.recent_likes->Round();
    told = co_await std::move(tell);
  }
  const bool all = put && swept && told;
  if (!all) {
    MutexLock lock(mutex_);
    ++stats_.failures;
  }
  co_return all;
}

Task<bool> CacheUpkeep::PutOwed() {
  std::vector<Item> owed;
  {
    MutexLock lock(mutex_);
    owed.assign(owed_.begin(), owed_.end());
    owed_.clear();
  }
  if (owed.empty()) co_return true;
  std::sort(owed.begin(), owed.end());  // So that a simulation can be replayed.
  const auto count = static_cast<int64_t>(owed.size());
  Task<bool> put = PutFromStore(owed);
  const bool done = co_await std::move(put);
  {
    MutexLock lock(mutex_);
    if (done)
      stats_.items_put_again += count;
    else
      owed_.insert(owed.begin(), owed.end());
  }
  co_return done;
}

Task<bool> CacheUpkeep::Sweep() {
  if (parts_.stale == nullptr) co_return true;
  // A cache that was gone for a minute has left a long backlog, and until the end of it is reached
  // it holds old counts.
  std::optional<int> swept = options_.sweep_rows_max;
  while (swept == options_.sweep_rows_max && !Stopping()) {
    Task<std::optional<int>> sweep = SweepSome();
    swept = co_await std::move(sweep);
  }
  co_return swept.has_value();
}

Task<std::optional<int>> CacheUpkeep::SweepSome() {
  Task<absl::StatusOr<std::vector<StaleRow>>> take =
      parts_.stale->TakeStale(options_.stale_age, options_.sweep_rows_max, Limits());
  const absl::StatusOr<std::vector<StaleRow>> rows = co_await std::move(take);
  if (!rows.ok()) co_return std::nullopt;
  if (rows->empty()) co_return 0;
  std::vector<Item> items;
  std::vector<int64_t> ids;
  for (const StaleRow& row : *rows) {
    ids.push_back(row.id);
    items.insert(items.end(), row.items.begin(), row.items.end());
  }
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());

  const int swept = static_cast<int>(ids.size());
  Task<bool> put = PutFromStore(std::move(items));
  const bool told = co_await std::move(put);
  if (!told) co_return std::nullopt;
  Task<absl::Status> erase = parts_.stale->DeleteStale(std::move(ids), Limits());
  const absl::Status erased = co_await std::move(erase);
  if (!erased.ok()) co_return std::nullopt;
  MutexLock lock(mutex_);
  stats_.rows_swept += swept;
  co_return swept;
}

bool CacheUpkeep::Stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

Task<bool> CacheUpkeep::PutFromStore(std::vector<Item> items) {
  for (size_t first = 0; first < items.size(); first += kItemsPerRead) {
    const size_t last = std::min(first + kItemsPerRead, items.size());
    std::vector<ItemRead> reads;
    for (size_t i = first; i < last; ++i) reads.push_back({items[i]});
    Task<absl::StatusOr<CountsRead>> read =
        parts_.store.Counts(std::move(reads), Consistency::kStrong, Limits());
    const absl::StatusOr<CountsRead> counts = co_await std::move(read);
    if (!counts.ok()) co_return false;
    std::vector<CountPut> puts;
    for (size_t i = first; i < last; ++i) {
      const ItemCount& count = counts->counts[i - first];
      puts.push_back({{items[i], count.count, count.version, counts->as_of}, 0});
    }
    Task<bool> put = parts_.cache.Put(std::move(puts));
    const bool taken = co_await std::move(put);
    if (!taken) co_return false;
  }
  co_return true;
}

CallLimits CacheUpkeep::Limits() const {
  CallLimits limits;
  limits.deadline = parts_.clock.MonotonicNow() + options_.store_budget;
  return limits;
}

void CacheUpkeep::Start() {
  thread_ = std::thread([this] { Run(); });
}

void CacheUpkeep::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void CacheUpkeep::Run() {
  bool is_settled = true;
  while (true) {
    {
      MutexLock lock(mutex_);
      const MonotonicTime next = Clock::System().MonotonicNow() + options_.period;
      // What is to be put again does not wait for the period, unless the last try failed.
      while (!stopping_ && (owed_.empty() || !is_settled) &&
             Clock::System().MonotonicNow() < next) {
        wake_.WaitUntil(mutex_, next);
      }
      if (stopping_) return;
    }
    // Nobody waits for this thread, so it may wait.
    is_settled = BlockingWait(Round());
  }
}

CacheUpkeepStats CacheUpkeep::Stats() const {
  MutexLock lock(mutex_);
  CacheUpkeepStats stats = stats_;
  stats.items_owed = static_cast<int64_t>(owed_.size());
  stats.rows_waiting = static_cast<int64_t>(match_.rows());
  return stats;
}

}  // namespace counter
