#include "storage/postgres/primary_history.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace counter::postgres {
namespace {

int64_t NumberOf(const std::string& timeline) {
  uint32_t number = 0;
  return absl::SimpleHexAtoi(timeline, &number) ? int64_t{number} : 0;
}

}  // namespace

bool PrimaryHistory::IsSameCluster(const SessionFacts& facts) const {
  return facts.system_id == newest_.system_id && facts.store_id == newest_.store_id;
}

std::optional<std::string> PrimaryHistory::Veto(const SessionFacts& facts, bool others) const {
  if (!known()) return std::nullopt;
  if (!IsSameCluster(facts)) {
    // A store that was made anew may take the place of one that has gone, not stand beside it.
    if (!others) return std::nullopt;
    return "the server holds another store than the one in use";
  }
  if (!IsOutdated(facts)) return std::nullopt;
  return absl::StrCat("the server is an old primary on timeline ", NumberOf(facts.timeline),
                      ", another one took over with timeline ", timeline_number(),
                      ": rebuild it as a standby");
}

void PrimaryHistory::Took(const SessionFacts& facts) {
  if (known()) {
    if (IsSameCluster(facts) && NumberOf(facts.timeline) <= timeline_number()) return;
    if (IsSameCluster(facts)) ++failovers_;
  }
  newest_ = facts;
}

bool PrimaryHistory::IsOutdated(const SessionFacts& facts) const {
  return known() && IsSameCluster(facts) && NumberOf(facts.timeline) < timeline_number();
}

std::string PrimaryHistory::timeline() const {
  return known() ? absl::StrCat(newest_.store_id, "t", newest_.timeline) : "";
}

int64_t PrimaryHistory::timeline_number() const { return NumberOf(newest_.timeline); }

}  // namespace counter::postgres
