// LogWriter: the server's log: records become lines of text or JSON on standard error, written by
// a thread of its own.
//
// Whoever logs never waits for what is behind the descriptor: lines go into a queue of bounded
// size; when it is full, or when a write fails (disk full, pipe closed), lines are lost and
// counted. The server serves on. A closed pipe raises no SIGPIPE here.
//
// Threads: Write and lines_lost from any; the rest from the owner. Ownership: uninstall it
// (SetLogSink) before it goes.
#ifndef COUNTER_SERVER_LOG_LOG_WRITER_H_
#define COUNTER_SERVER_LOG_LOG_WRITER_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "base/log.h"
#include "base/log_format.h"

namespace counter {

// Whether lines to `fd` should be JSON: kAuto means text on a terminal.
bool UseJson(LogFormat format, int fd);

class LogWriter final : public LogSink {
 public:
  struct Options {
    int fd = STDERR_FILENO;  // Not owned.
    bool json = true;
    size_t queue_bytes_max = 1 << 20;
    // How long Stop waits for a reader that does not read.
    absl::Duration stop_budget = absl::Seconds(1);
  };

  explicit LogWriter(const Options& options);
  ~LogWriter() override;

  void Write(const LogRecord& record) override;

  // Writes what is queued, for at most the budget, and ends the thread; later lines are lost.
  void Stop();

  // Lines that were not written, since the start.
  int64_t lines_lost() const;

 private:
  class Queue;

  const bool json_;
  const absl::Duration stop_budget_;
  // Shared with the thread, which Stop leaves behind if the descriptor holds it in a write.
  const std::shared_ptr<Queue> queue_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_LOG_LOG_WRITER_H_
