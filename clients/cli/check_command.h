// RunCheck: the command `counterctl check`, which has a server compare what each layer says of
// counts. It speaks to AdminService, on its own listener.
//
// Asks again for a moment while a copy is behind or ahead: that passes. It blocks. Data goes to
// `out`, complaints to `err`. Threads: one.
#ifndef COUNTER_CLIENTS_CLI_CHECK_COMMAND_H_
#define COUNTER_CLIENTS_CLI_CHECK_COMMAND_H_

#include <ostream>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/admin_command.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"

namespace counter::cli {

struct CheckSettings {
  absl::Duration wait = absl::Seconds(2);  // How long to ask again.
};

// A line for each copy of each item. Without items: of those that the server sampled last; and on
// `err` what it has found of its samples since it started, and the first item that diverged.
// Exit status: 0; kExitDrift if a copy diverges, now or in a sample.
int RunCheck(const AdminSettings& admin, const CheckSettings& settings,
             const std::vector<client::Item>& items, Format format, std::ostream& out,
             std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_CHECK_COMMAND_H_
