// RunWatch: the command `counterctl watch`: a line for each count that is new.
//
// It goes on after a break from what it has shown, and anew when the store has another history.
// Blocks. Data goes to `out`, complaints to `err`.
#ifndef COUNTER_CLIENTS_CLI_WATCH_COMMAND_H_
#define COUNTER_CLIENTS_CLI_WATCH_COMMAND_H_

#include <cstdint>
#include <ostream>
#include <vector>

#include "absl/time/time.h"
#include "clients/cli/output.h"
#include "clients/cpp/client.h"

namespace counter::cli {

struct WatchSettings {
  int64_t counts_max = 0;                       // Ends after so many lines; 0: never.
  absl::Duration patience = absl::Minutes(10);  // With a server that cannot be watched.
};

int RunWatch(const client::Client& client, const std::vector<client::Item>& items,
             const WatchSettings& settings, Format format, std::ostream& out, std::ostream& err);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_WATCH_COMMAND_H_
