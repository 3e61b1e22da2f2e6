// The ready file (READY_FILE): where supervisors and tests read that the server answers, and on
// which ports, when they let the system pick them.
#ifndef COUNTER_SERVER_READY_FILE_H_
#define COUNTER_SERVER_READY_FILE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace counter {

// Writes one line `name=address` for each listener. The file appears whole or not at all (it is
// renamed into its place); one that is there is replaced. Errors name the path, for an operator.
absl::Status WriteReadyFile(const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& listeners);

}  // namespace counter

#endif  // COUNTER_SERVER_READY_FILE_H_
