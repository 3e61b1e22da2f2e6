#include "server/upkeep/outbox_match.h"

#include <algorithm>

namespace counter {

void OutboxMatch::Committed(const OutboxRow& row, const std::vector<ChangedItem>& changed,
                            MonotonicTime now) {
  const uint64_t key = ++last_key_;
  Open& open = rows_[key];
  open.row = row;
  open.at = now;
  for (const ChangedItem& one : changed) {
    wanted_[one.item].push_back({one.version, key});
    open.items.push_back(one.item);
  }
  open.waits_for = open.items.size();
  in_order_.push_back(key);
  Forget(now);
}

void OutboxMatch::Acknowledged(const Item& item, int64_t version, std::vector<OutboxRow>& done) {
  const auto found = wanted_.find(item);
  if (found == wanted_.end()) return;
  std::vector<Wanted>& wanted = found->second;
  auto is_told = [&](const Wanted& one) {
    if (one.version > version) return false;
    const auto open = rows_.find(one.row);
    if (--open->second.waits_for == 0) {
      done.push_back(open->second.row);
      rows_.erase(open);
    }
    return true;
  };
  std::erase_if(wanted, is_told);
  if (wanted.empty()) wanted_.erase(found);
}

void OutboxMatch::Forget(MonotonicTime now) {
  while (!in_order_.empty()) {
    const auto open = rows_.find(in_order_.front());
    const bool is_gone = open == rows_.end();
    if (!is_gone && rows_.size() <= rows_max_ && Between(open->second.at, now) <= age_max_) return;
    if (!is_gone) Erase(in_order_.front());
    in_order_.pop_front();
  }
}

void OutboxMatch::Erase(uint64_t key) {
  for (const Item& item : rows_[key].items) {
    const auto found = wanted_.find(item);
    if (found == wanted_.end()) continue;
    std::erase_if(found->second, [&](const Wanted& one) { return one.row == key; });
    if (found->second.empty()) wanted_.erase(found);
  }
  rows_.erase(key);
}

}  // namespace counter
