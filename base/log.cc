#include "base/log.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace counter {
namespace {

std::atomic<LogSink*> g_sink{nullptr};
std::atomic<LogLevel> g_level{LogLevel::kInfo};

void Write(LogLevel level, absl::string_view event, absl::Span<const LogField> fields) {
  const LogRecord record{level, Clock::System().WallNow(), event, fields};
  LogSink* const sink = g_sink.load(std::memory_order_acquire);
  if (sink != nullptr) {
    sink->Write(record);
    return;
  }
  const std::string line = FormatLogText(record);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void SetLogSink(LogSink* sink, LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
  g_sink.store(sink, std::memory_order_release);
}

bool LogEnabled(LogLevel level) { return level >= g_level.load(std::memory_order_relaxed); }

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  Write(level, event, absl::MakeConstSpan(fields.begin(), fields.size()));
}

bool LogThrottle::Log(LogLevel level, absl::string_view event,
                      std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return false;
  const MonotonicTime now = clock_.MonotonicNow();
  const MonotonicTime::rep now_ticks = now.time_since_epoch().count();
  MonotonicTime::rep open_at = open_at_.load(std::memory_order_relaxed);
  const MonotonicTime::rep next = (now + period_).time_since_epoch().count();
  // Of several threads that find the gate open, the one that moves it on writes the line.
  if (now_ticks < open_at ||
      !open_at_.compare_exchange_strong(open_at, next, std::memory_order_relaxed)) {
    suppressed_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const int64_t suppressed = suppressed_.exchange(0, std::memory_order_relaxed);
  std::vector<LogField> all(fields);
  if (suppressed > 0) all.push_back({"suppressed", suppressed});
  Write(level, event, all);
  return true;
}

}  // namespace counter
