// PrimaryHistory: which primary the store follows, and which it must not go back to.
//
// Use one for a store; all its connections that write are of one primary. A standby that is
// promoted begins a new timeline of the same cluster. Once a session on it was taken, a session on
// an earlier timeline is refused: that is the old primary, which somebody failed to stop, and what
// it would acknowledge is lost. It knows of a new primary only when it has met it: to keep the old
// one from being met first is the operator's part (docs/operations.md).
//
// Pure. Threads: one at a time.
#ifndef COUNTER_STORAGE_POSTGRES_PRIMARY_HISTORY_H_
#define COUNTER_STORAGE_POSTGRES_PRIMARY_HISTORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "storage/postgres/session_check.h"

namespace counter::postgres {

class PrimaryHistory {
 public:
  // Why a session must not be taken, in words for an operator; nothing if it may. `others`: whether
  // other sessions of the store are in use.
  std::optional<std::string> Veto(const SessionFacts& facts, bool others) const;

  // A session is in use.
  void Took(const SessionFacts& facts);

  // Whether a session that is in use is on an earlier timeline than another one that was taken.
  bool IsOutdated(const SessionFacts& facts) const;

  // Of the newest session: names the store and its timeline. Empty before the first.
  std::string timeline() const;
  // Its number; 0 before the first.
  int64_t timeline_number() const;
  const SessionFacts& newest() const { return newest_; }
  // How often the timeline changed. Rising.
  int64_t failovers() const { return failovers_; }

 private:
  bool IsSameCluster(const SessionFacts& facts) const;
  bool known() const { return !newest_.timeline.empty(); }

  SessionFacts newest_;
  int64_t failovers_ = 0;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_PRIMARY_HISTORY_H_
