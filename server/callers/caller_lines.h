// CallerLines: the lines of a file that an operator wrote for callers: words between blanks, `#`
// begins a comment, empty lines mean nothing.
//
// Faults are gathered, each with the number of its line, so that an operator sees all of them at
// once. Pure.
#ifndef COUNTER_SERVER_CALLERS_CALLER_LINES_H_
#define COUNTER_SERVER_CALLERS_CALLER_LINES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace counter {

struct CallerLine {
  int number = 0;  // From 1.
  std::vector<std::string> words;
};

std::vector<CallerLine> SplitCallerLines(absl::string_view text);

// 1 to 64 characters of [A-Za-z0-9._-], the first a letter or digit.
bool IsCallerName(absl::string_view name);

// Of a word that an operator wrote, for a message: escaped, and cut if it is long. Never for a
// token.
std::string ShowWord(absl::string_view word);

class CallerFaults {
 public:
  // `file` names the file in the messages: "CALLERS_FILE".
  explicit CallerFaults(std::string file) : file_(std::move(file)) {}

  void Add(int line, absl::string_view what);
  // OK, or INVALID_ARGUMENT with all of them (the first ones, if they are many).
  absl::Status Verdict() const;

 private:
  const std::string file_;
  std::vector<std::string> faults_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_CALLERS_CALLER_LINES_H_
