#include "server/log/log_writer.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/quiet_thread.h"

namespace counter {
namespace {

// So much can be written without waiting to a pipe that says it is writable (PIPE_BUF).
constexpr size_t kWriteBytesMax = 4096;

int64_t CountLines(absl::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

// The longest start of `text` that is written at once: whole lines, if one fits.
absl::string_view NextWrite(absl::string_view text) {
  if (text.size() <= kWriteBytesMax) return text;
  const size_t line_end = text.substr(0, kWriteBytesMax).rfind('\n');
  return text.substr(0, line_end == absl::string_view::npos ? kWriteBytesMax : line_end + 1);
}

}  // namespace

class LogWriter::Queue {
 public:
  Queue(int fd, size_t bytes_max) : fd_(fd), bytes_max_(bytes_max) {}

  void Push(const std::string& line) {
    MutexLock lock(mutex_);
    if (stopping_ || lines_.size() + line.size() > bytes_max_) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    const bool was_empty = lines_.empty();
    lines_ += line;
    if (was_empty) changed_.NotifyAll();
  }

  // The thread's whole life.
  void Run() {
    std::string batch;
    while (WaitForLines(batch)) {
      WriteBatch(batch);
      batch.clear();
    }
    MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }

  // True if the thread has ended or is about to.
  bool StopAndWait(absl::Duration budget) {
    const MonotonicTime deadline = Clock::System().MonotonicNow() + budget;
    give_up_at_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
    while (!ended_ && Clock::System().MonotonicNow() < deadline + absl::Milliseconds(200)) {
      changed_.WaitUntil(mutex_, deadline + absl::Milliseconds(200));
    }
    return ended_;
  }

  int64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  // False when it is stopping and nothing is left.
  bool WaitForLines(std::string& batch) {
    MutexLock lock(mutex_);
    while (lines_.empty() && !stopping_) changed_.Wait(mutex_);
    batch.swap(lines_);
    return !batch.empty();
  }

  void WriteBatch(absl::string_view rest) {
    if (broke_off_in_line_) {
      // The line that was cut short by an error ends here, so that this one can be read.
      broke_off_in_line_ = WriteSome("\n") != 1;
      if (broke_off_in_line_) return Lose(rest);
    }
    bool at_line_start = true;
    while (!rest.empty()) {
      const ssize_t written = WriteSome(NextWrite(rest));
      if (written < 0) {
        broke_off_in_line_ = !at_line_start;
        return Lose(rest);
      }
      if (written == 0) continue;
      at_line_start = rest[written - 1] == '\n';
      rest.remove_prefix(written);
    }
  }

  // Bytes written; 0 to try again; -1 to give up.
  ssize_t WriteSome(absl::string_view bytes) {
    if (!WaitUntilWritable()) return -1;
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written >= 0) return written;
    return errno == EINTR || errno == EAGAIN ? 0 : -1;
  }

  // Waits for as long as it takes, or until Stop's budget is used up.
  bool WaitUntilWritable() {
    constexpr int kLookForStopEveryMs = 50;
    while (true) {
      pollfd descriptor{fd_, POLLOUT, 0};
      const int ready = poll(&descriptor, 1, kLookForStopEveryMs);
      if (ready > 0) return true;  // Also if it is broken: write says how.
      if (ready < 0 && errno != EINTR) return false;
      const MonotonicTime::rep now = Clock::System().MonotonicNow().time_since_epoch().count();
      if (now >= give_up_at_.load(std::memory_order_relaxed)) return false;
    }
  }

  void Lose(absl::string_view lines) {
    lost_.fetch_add(CountLines(lines), std::memory_order_relaxed);
  }

  const int fd_;
  const size_t bytes_max_;
  std::atomic<int64_t> lost_{0};
  std::atomic<MonotonicTime::rep> give_up_at_{MonotonicTime::max().time_since_epoch().count()};
  // Only the thread's.
  bool broke_off_in_line_ = false;

  Mutex mutex_;
  CondVar changed_;
  std::string lines_ ABSL_GUARDED_BY(mutex_);  // Whole lines.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

bool UseJson(LogFormat format, int fd) {
  return format == LogFormat::kJson || (format == LogFormat::kAuto && isatty(fd) == 0);
}

LogWriter::LogWriter(const Options& options)
    : json_(options.json),
      stop_budget_(options.stop_budget),
      queue_(std::make_shared<Queue>(options.fd, options.queue_bytes_max)) {
  const std::shared_ptr<Queue> queue = queue_;
  // Left to itself: Stop waits for its end, but not for ever.
  StartThreadWithoutSignals([queue] { queue->Run(); }).detach();
}

LogWriter::~LogWriter() { Stop(); }

void LogWriter::Write(const LogRecord& record) {
  queue_->Push(json_ ? FormatLogJson(record) : FormatLogText(record));
}

void LogWriter::Stop() { queue_->StopAndWait(stop_budget_); }

int64_t LogWriter::lines_lost() const { return queue_->lost(); }

}  // namespace counter
