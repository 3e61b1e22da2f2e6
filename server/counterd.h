// RunCounterd: the server and everything in it, from its settings until a signal. Part of main:
// which store and which caches there are is chosen in backends.cc; here the rooms are wired,
// started, and ended in good order.
//
// Threads: one call a process, on the main thread. Ownership: it owns what it makes; borrows the
// rest.
#ifndef COUNTER_SERVER_COUNTERD_H_
#define COUNTER_SERVER_COUNTERD_H_

#include "absl/status/status.h"
#include "server/config/load.h"
#include "server/log/log_writer.h"
#include "server/termination.h"

namespace counter {

// Serves until a signal; then drains. Returns why it could not start.
absl::Status RunCounterd(const LoadedConfig& loaded, Termination& termination,
                         const LogWriter& log);

}  // namespace counter

#endif  // COUNTER_SERVER_COUNTERD_H_
