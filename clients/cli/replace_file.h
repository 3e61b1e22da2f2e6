// ReplaceFile: a file that holds the whole of a text or, after a crash, what was there before.
// Any thread, one at a time a path. Waits for the disk.
#ifndef COUNTER_CLIENTS_CLI_REPLACE_FILE_H_
#define COUNTER_CLIENTS_CLI_REPLACE_FILE_H_

#include <string>

namespace counter::cli {

// Whether it could be written.
bool ReplaceFile(const std::string& path, const std::string& text);

}  // namespace counter::cli

#endif  // COUNTER_CLIENTS_CLI_REPLACE_FILE_H_
