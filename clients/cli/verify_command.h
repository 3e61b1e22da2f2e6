// RunVerify: the command `counterctl verify`: whether a deployment keeps its word, by load whose
// every answer is judged (clients/verify).
//
// It keeps out of the way of real data: its users and items have ids from 2^62 on that no other run
// has, and what they liked is taken back at the end, also if the run was interrupted. What stays
// are the counters of its items, at 0. It looks at nothing but the public API, so it can say of any
// deployment, whatever happens to it meanwhile, that the contract was broken; never that it never
// will be.
//
// Blocks; SIGINT ends the load early, a second one the process. The report goes to `out`,
// complaints to `err`. Returns 0, kExitFindings, or as all commands. Threads: one at a time.
// Ownership: borrows all.
#ifndef COUNTER_CLIENTS_CLI_VERIFY_COMMAND_H_
#define COUNTER_CLIENTS_CLI_VERIFY_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"
#include "clients/verify/checker.h"
#include "clients/verify/pair_load.h"

namespace counter::cli {

// The deployment broke its word.
inline constexpr int kExitFindings = 1;

struct VerifySettings {
  // Users and items from here on are of tools.
  static constexpr int64_t kIdsFirst = int64_t{1} << 62;

  absl::Duration duration = absl::Seconds(10);
  // Ids are set by RunVerify; a seed of 0 is replaced.
  verify::PairLoadOptions load = {};
  // Cached reads may be as old as a crash of a server allows.
  verify::Bounds bounds = {.cached = absl::Seconds(5)};
  bool yes = false;   // Writes are wanted.
  bool keep = false;  // Do not take the likes back.
};

// `once` repeats no call, `patient` does; both are for the same deployment.
int RunVerify(const client::Client& once, const client::Client& patient, VerifySettings settings,
              Format format, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_VERIFY_COMMAND_H_
