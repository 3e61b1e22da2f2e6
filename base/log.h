// Log: how every room tells an operator of an event that a human will act on. Count everything
// else (server/metrics).
//
//   Log(LogLevel::kWarning, "Store did not answer in time.", {{"store", "sqlite"}, {"waited_ms",
//   250}});
//
// The event is a fixed sentence, so that logs can be searched by it; what varies goes into fields.
// Never put a secret, and think twice before putting a user's data, into a field. Where the line
// goes and how it looks is the sink's matter: the server installs server/log; without one (tests,
// small tools) lines go to stderr as text, unbuffered.
//
// Threads: Log may be called from any thread, and by the server's sink never waits for a disk, a
// pipe or a terminal. SetLogSink is for one thread while no other thread logs.
#ifndef COUNTER_BASE_LOG_H_
#define COUNTER_BASE_LOG_H_

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log_format.h"

namespace counter {

// Where records go.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // Called from any thread; borrows the record for the call. Must not log.
  virtual void Write(const LogRecord& record) = 0;
};

// Sends records of `level` and above to `sink` from now on; null: to stderr. The sink is not owned
// and must outlive its last record.
void SetLogSink(LogSink* sink, LogLevel level);

// Whether a record of this level goes anywhere: asked before a field is costly to make.
bool LogEnabled(LogLevel level);

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields = {});

// Lets one line through in each period, so that a flood of one event is one line with a number.
// Make one for each event, with static storage or in the object that the event is about.
//
//   static LogThrottle throttle(absl::Seconds(10));
//   throttle.Log(LogLevel::kWarning, "Call was refused: too many in flight.", {{"limit", limit}});
//
// A line that comes after suppressed ones has the field `suppressed` with their number. Any thread.
class LogThrottle {
 public:
  explicit LogThrottle(absl::Duration period, const Clock& clock = Clock::System())
      : period_(period), clock_(clock) {}

  // True if the line was let through.
  bool Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields = {});

 private:
  const absl::Duration period_;
  const Clock& clock_;
  // When the next line may pass, as a count of the monotonic clock; 0: at once.
  std::atomic<MonotonicTime::rep> open_at_{0};
  std::atomic<int64_t> suppressed_{0};
};

}  // namespace counter

#endif  // COUNTER_BASE_LOG_H_
