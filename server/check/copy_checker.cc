#include "server/check/copy_checker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter {
namespace {

// Of all reads of a round, or of one of what is ahead.
constexpr absl::Duration kReadBudget = absl::Seconds(1);

// While nothing waits. A write that comes meanwhile is due later than this.
constexpr absl::Duration kIdleLook = absl::Milliseconds(50);

CheckedItem Judged(const Item& item, std::vector<Copy> copies,
                   const std::optional<KnownWrite>& write) {
  CheckedItem checked;
  checked.item = item;
  checked.results = JudgeCopies(copies, write);
  checked.copies = std::move(copies);
  return checked;
}

}  // namespace

CopyChecker::CopyChecker(CopyReader::Parts parts, SampledWrites& writes, ItemTypes item_types,
                         const Options& options)
    : clock_(parts.clock),
      reader_(std::move(parts), options.reader),
      writes_(writes),
      item_types_(std::move(item_types)),
      options_(options) {
  for (const Copy& copy : reader_.Unanswered()) layers_.push_back(copy.layer);
  layers_.erase(std::unique(layers_.begin(), layers_.end()), layers_.end());
}

CopyChecker::~CopyChecker() { Stop(); }

Task<absl::StatusOr<std::vector<CheckedItem>>> CopyChecker::Check(std::vector<Item> items,
                                                                  CallLimits limits) {
  Task<absl::StatusOr<std::vector<std::vector<Copy>>>> read =
      reader_.Read(items, std::move(limits));
  absl::StatusOr<std::vector<std::vector<Copy>>> copies = co_await std::move(read);
  if (!copies.ok()) co_return copies.status();
  std::vector<CheckedItem> checked;
  for (size_t i = 0; i < items.size(); ++i)
    checked.push_back(Judged(items[i], std::move((*copies)[i]), std::nullopt));
  co_return checked;
}

// ---- In the background -------------------------------------------------------------------------

void CopyChecker::CheckDue() {
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<DueCheck> in_time;
  for (const DueCheck& due : writes_.TakeDue(options_.checks_max)) {
    if (IsLate(due, now))
      Record(due, Judged(due.write.item, reader_.Unanswered(), due.write));
    else
      in_time.push_back(due);
  }
  std::vector<CheckedItem> checked = CheckWrites(in_time);
  // A newer version than the primary's passes, unless it is invented.
  for (int again = 0; again < options_.reads_again_max; ++again) {
    std::vector<size_t> places;
    std::vector<DueCheck> ahead;
    for (size_t i = 0; i < checked.size(); ++i) {
      if (!checked[i].Has(CopyResult::kAhead)) continue;
      places.push_back(i);
      ahead.push_back(in_time[i]);
    }
    if (ahead.empty() || !Pause(options_.pause)) break;
    std::vector<CheckedItem> read_again = CheckWrites(ahead);
    for (size_t i = 0; i < places.size(); ++i) checked[places[i]] = std::move(read_again[i]);
  }
  for (size_t i = 0; i < checked.size(); ++i) Record(in_time[i], std::move(checked[i]));
}

bool CopyChecker::IsLate(const DueCheck& due, MonotonicTime now) const {
  const absl::Duration age = CheckAges()[static_cast<size_t>(due.age)];
  return Between(due.due, now) > std::max(options_.late_max, age / 10);
}

std::vector<CheckedItem> CopyChecker::CheckWrites(const std::vector<DueCheck>& dues) {
  std::vector<CheckedItem> checked;
  if (dues.empty()) return checked;
  std::vector<Item> items;
  for (const DueCheck& due : dues) items.push_back(due.write.item);
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  CallLimits limits;
  limits.deadline = clock_.MonotonicNow() + kReadBudget;
  const absl::StatusOr<std::vector<std::vector<Copy>>> copies =
      BlockingWait(reader_.Read(items, std::move(limits)));
  for (const DueCheck& due : dues) {
    const auto place = std::lower_bound(items.begin(), items.end(), due.write.item);
    const auto i = static_cast<size_t>(place - items.begin());
    checked.push_back(
        Judged(due.write.item, copies.ok() ? (*copies)[i] : reader_.Unanswered(), due.write));
  }
  return checked;
}

void CopyChecker::Record(const DueCheck& due, CheckedItem checked) {
  for (size_t i = 0; i < checked.copies.size(); ++i)
    tally_.Count(checked.copies[i].layer, due.age, checked.results[i]);
  if (!checked.Has(CopyResult::kDiverged)) return;
  log_.Log(LogLevel::kError,
           "Copies of a count say different things at one version: look into the runbook for "
           "CounterCopiesDiverge.",
           {{"item", absl::StrCat(item_types_.NameOf(checked.item.type), ":", checked.item.id)},
            {"after_seconds", kCheckAgeNames[static_cast<size_t>(due.age)]},
            {"written", absl::StrCat("count ", due.write.count, ", version ", due.write.version)},
            {"copies", DescribeCopies(checked)}});
  MutexLock lock(mutex_);
  if (!first_.has_value()) first_ = Finding{std::move(checked), clock_.WallNow(), due.age};
}

std::optional<CopyChecker::Finding> CopyChecker::FirstDiverging() const {
  MutexLock lock(mutex_);
  return first_;
}

void CopyChecker::Start() {
  if (writes_.takes_writes()) thread_ = std::thread([this] { Run(); });
}

void CopyChecker::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

// False: there is no going on.
bool CopyChecker::Pause(absl::Duration duration) {
  const MonotonicTime until = Clock::System().MonotonicNow() + duration;
  MutexLock lock(mutex_);
  while (!stopping_ && Clock::System().MonotonicNow() < until) wake_.WaitUntil(mutex_, until);
  return !stopping_;
}

void CopyChecker::Run() {
  absl::Duration wait = kIdleLook;
  // Nobody waits for this thread, so it may wait.
  while (Pause(wait)) {
    CheckDue();
    const std::optional<MonotonicTime> next = writes_.NextDue();
    wait = kIdleLook;
    if (next.has_value())
      wait = std::clamp(Between(clock_.MonotonicNow(), *next), absl::ZeroDuration(), kIdleLook);
  }
}

}  // namespace counter
