#include "storage/postgres/session_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace counter::postgres {
namespace {

constexpr int64_t kOldestServer = 150000;

void CheckDurability(const SessionFacts& facts, Durability wanted, SessionVerdict& verdict) {
  std::vector<std::string> faults;
  if (facts.fsync != "on") faults.push_back("fsync is off: a crash of the machine loses likes");
  if (facts.full_page_writes != "on")
    faults.push_back("full_page_writes is off: a crash of the machine can destroy pages");
  // "on" waits for the standby too, where one is named. remote_apply waits for more.
  if (facts.synchronous_commit != "on" && facts.synchronous_commit != "remote_apply")
    faults.push_back(absl::StrCat("synchronous_commit is ", facts.synchronous_commit,
                                  " although this server asked for on"));
  if (wanted == Durability::kReplicated && facts.synchronous_standby_names.empty())
    faults.push_back("synchronous_standby_names is empty, but replicated durability was asked for");
  if (faults.empty()) return;
  if (wanted == Durability::kUnsafe) {
    verdict.warnings.insert(verdict.warnings.end(), faults.begin(), faults.end());
    return;
  }
  verdict.refusals.insert(verdict.refusals.end(), faults.begin(), faults.end());
  verdict.lasting = true;
}

void CheckSchema(const SessionFacts& facts, const SessionNeeds& needs, SessionVerdict& verdict) {
  if (!facts.migrated || facts.migration < needs.migration) {
    verdict.refusals.push_back(absl::StrCat("the database is at migration ", facts.migration,
                                            ", this server needs ", needs.migration,
                                            ": run counterd migrate up"));
    verdict.lasting = true;
    return;
  }
  if (facts.migration > needs.migration)
    verdict.warnings.push_back(absl::StrCat("the database is at migration ", facts.migration,
                                            ", newer than this server's ", needs.migration));
  std::vector<int64_t> missing;
  for (const int64_t type : needs.item_types) {
    if (std::find(facts.item_types.begin(), facts.item_types.end(), type) ==
        facts.item_types.end()) {
      missing.push_back(type);
    }
  }
  if (!missing.empty()) {
    verdict.refusals.push_back(absl::StrCat("the database has no partition for item type ",
                                            absl::StrJoin(missing, ", "),
                                            ": run counterd migrate up"));
    verdict.lasting = true;
  }
}

// Whatever is wrong passes by itself: a standby that was promoted is rebuilt, migrations are
// replayed.
void CheckReplica(const SessionFacts& facts, const SessionNeeds& needs, SessionVerdict& verdict) {
  if (!facts.in_recovery) verdict.refusals.push_back("the server is no standby; a replica is one");
  CheckSchema(facts, needs, verdict);
  verdict.lasting = false;
}

}  // namespace

SessionVerdict CheckSession(const SessionFacts& facts, const SessionNeeds& needs) {
  SessionVerdict verdict;
  if (facts.server_version < kOldestServer) {
    verdict.refusals.push_back(absl::StrCat("the server is PostgreSQL ",
                                            facts.server_version / 10000,
                                            ", this server needs 15 or later"));
    verdict.lasting = true;
  }
  if (needs.role == ServerRole::kReplica) {
    CheckReplica(facts, needs, verdict);
    return verdict;
  }
  // A standby may be promoted, and may not have replayed the migrations yet.
  if (facts.in_recovery || facts.read_only) {
    verdict.refusals.push_back("the server is a standby or read-only, the primary is needed");
    return verdict;
  }
  CheckDurability(facts, needs.durability, verdict);
  CheckSchema(facts, needs, verdict);
  return verdict;
}

bool BehindPooler(const SessionFacts& facts) { return !facts.settings_kept || !facts.same_backend; }

}  // namespace counter::postgres
