// ReadFileText: the whole of a small file that an operator wrote.
#ifndef COUNTER_SERVER_FILES_FILE_TEXT_H_
#define COUNTER_SERVER_FILES_FILE_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace counter {

// Larger files are no settings of ours.
inline constexpr size_t kFileTextBytesMax = 1 << 20;

// The error is for the operator and holds the path, never any of the content. Threads: any.
absl::StatusOr<std::string> ReadFileText(const std::string& path);

}  // namespace counter

#endif  // COUNTER_SERVER_FILES_FILE_TEXT_H_
