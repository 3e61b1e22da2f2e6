// Metrics: what the server counts about itself, for Prometheus.
//
// | metric | type | what it counts |
// |---|---|---|
// | grpc_server_started_total{grpc_type,grpc_service,grpc_method} | counter | calls that came in;
//     grpc_type is unary, client_stream, server_stream or bidi_stream |
// | grpc_server_handled_total{grpc_type,grpc_service,grpc_method,grpc_code} | counter | calls that
//     ended, refused ones too; grpc_code as Go spells it: OK, InvalidArgument, ... |
// | grpc_server_handling_seconds{grpc_type,grpc_service,grpc_method} | histogram | from a call's
//     arrival to its end; 0.1 ms to 10 s |
// | counter_calls_in_flight | gauge | calls that are being worked on |
// | counter_calls_refused_total{reason} | counter | calls refused before any work for them; reason
// as
//     in the error's ErrorInfo: OVERLOADED, ... |
// | counter_mutations_dropped_total{reason} | counter | likes and unlikes that left the write queue
//     without reaching the store; reason as above |
// | counter_reads_dropped_total{reason} | counter | the same for reads |
// | counter_writes_unknown_total | counter | likes and unlikes of which nobody could say whether
//     they were applied |
// | counter_likes_rate_limited_total | counter | likes refused by their user's rate limit |
// | counter_write_batch_rows | histogram | mutations in a transaction of the store |
// | counter_write_batch_seconds | histogram | from a transaction's begin to its flushed commit |
// | counter_write_queue_mutations | gauge | mutations that wait for the store |
// | counter_write_wait_milliseconds | gauge | how long a mutation that came now would wait for its
//     commit, by the pace of those before |
// | counter_read_queue_reads | gauge | reads that wait for the store |
// | counter_store_available | gauge | 1 while the store can serve |
// | counter_draining | gauge | 1 from the signal to the end |
// | counter_cache_lookups_total{cache,result} | counter | items looked up; cache counter or
//     recent_likes, result hit or miss |
// | counter_log_lines_lost_total | counter | log lines that could not be written |
// | counter_build_info{version} | gauge | 1 |
//
// And those of process_metrics.h. What others count about themselves is read when a scrape comes
// (AddReadings); docs/metrics.md lists those series too.
//
// Every label's value comes from a closed set that is fixed when the server starts: methods that it
// has (all others are one, "unknown"), codes, reasons and caches. Nothing that a caller sends makes
// a series. All series exist from the start, at 0, so that a rate never misses the first event.
//
// On the hot path there is no lock, no label and no allocation: hold on to what ForMethod and the
// accessors return. Threads: any. Ownership: outlives what it handed out.
#ifndef COUNTER_SERVER_METRICS_METRICS_H_
#define COUNTER_SERVER_METRICS_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "base/mutex.h"
#include "server/metrics/histogram.h"

namespace counter {

// A number that only rises.
class Counter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  // For a number that somebody else counts: raises it to `total`, never lowers it.
  void RaiseTo(int64_t total);
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// A number that rises and falls.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// The full name of a method, "/counter.v1.CounterService/Like", and what kind of calls it takes.
struct GrpcMethod {
  enum class Type : uint8_t { kUnary, kClientStream, kServerStream, kBidiStream };

  // Implicit: most methods are unary, and then the name says it all.
  GrpcMethod(std::string full_name, Type its_type = Type::kUnary)  // NOLINT
      : name(std::move(full_name)), type(its_type) {}

  std::string name;
  Type type;
};

// What is counted of one method.
class MethodMetrics {
 public:
  MethodMetrics();
  void Started() { started_.Add(); }
  // `grpc_code` is the number of the canonical code; one that does not exist counts as Unknown.
  void Handled(int grpc_code, absl::Duration took);

 private:
  friend class Metrics;
  static constexpr int kCodes = 17;
  Counter started_;
  std::array<Counter, kCodes> handled_;
  Histogram seconds_;
};

// A number that somebody else keeps, as it stands now.
struct MetricReading {
  enum class Kind : uint8_t { kCounter, kGauge };
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Kind kind = Kind::kCounter;
  std::string name;
  std::string help;
  Labels labels;
  int64_t value = 0;
};

inline void AddReading(std::vector<MetricReading>& readings, MetricReading::Kind kind,
                       const char* name, const char* help, int64_t value,
                       const MetricReading::Labels& labels = {}) {
  readings.push_back({kind, name, help, labels, value});
}

enum class CacheName : uint8_t { kCounter, kRecentLikes };
enum class CacheResult : uint8_t { kHit, kMiss };

class Metrics {
 public:
  // `methods` are all methods of the server.
  Metrics(const std::vector<GrpcMethod>& methods, std::string version);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // For a name that is not among `methods`: the metrics of all unknown ones.
  MethodMetrics& ForMethod(absl::string_view method);

  // Requires reason != kUnspecified.
  Counter& calls_refused(ErrorReason reason) { return calls_refused_[Index(reason)]; }
  Counter& mutations_dropped(ErrorReason reason) { return mutations_dropped_[Index(reason)]; }
  Counter& reads_dropped(ErrorReason reason) { return reads_dropped_[Index(reason)]; }
  Counter& writes_unknown() { return writes_unknown_; }
  Counter& cache_lookups(CacheName cache, CacheResult result) {
    return cache_lookups_[static_cast<int>(cache)][static_cast<int>(result)];
  }
  Counter& likes_rate_limited() { return likes_rate_limited_; }
  Counter& log_lines_lost() { return log_lines_lost_; }
  Gauge& calls_in_flight() { return calls_in_flight_; }
  Gauge& write_queue_mutations() { return write_queue_mutations_; }
  Gauge& write_wait_milliseconds() { return write_wait_milliseconds_; }
  Gauge& read_queue_reads() { return read_queue_reads_; }
  Gauge& store_available() { return store_available_; }
  Gauge& draining() { return draining_; }
  Histogram& write_batch_rows() { return write_batch_rows_; }
  Histogram& write_batch_seconds() { return write_batch_seconds_; }

  // Runs `refresh` at the begin of every scrape: the place to Set a gauge, or to RaiseTo a counter,
  // that others keep. It must not block. Before the first scrape only.
  void OnScrape(std::function<void()> refresh);

  // Adds what `read` says to every scrape. Readings of one name stand together, and every scrape
  // has the same series. It must not block for long. Before the first scrape only.
  void AddReadings(std::function<std::vector<MetricReading>()> read);

  // Adds families that another room collects to every scrape, until it is called with null. One at
  // a time: a second call replaces the first.
  void OnCollect(std::function<void(std::vector<prometheus::MetricFamily>&)> collect);

  // All of it as Prometheus' own type.
  std::vector<prometheus::MetricFamily> Gather();

  // All of it in the text format 0.0.4 of Prometheus.
  std::string Expose();
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  static constexpr int kReasons = 15;
  static int Index(ErrorReason reason) { return static_cast<int>(reason); }

  std::vector<prometheus::MetricFamily> Collect() const;

  const std::string version_;
  // Filled by the constructor, constant after. The pointers stay where they are.
  std::vector<std::pair<GrpcMethod, std::unique_ptr<MethodMetrics>>> methods_;
  absl::flat_hash_map<std::string, MethodMetrics*> by_name_;
  MethodMetrics* unknown_method_;

  std::array<Counter, kReasons> calls_refused_;
  std::array<Counter, kReasons> mutations_dropped_;
  std::array<Counter, kReasons> reads_dropped_;
  Counter writes_unknown_;
  std::array<std::array<Counter, 2>, 2> cache_lookups_;
  Counter likes_rate_limited_;
  Counter log_lines_lost_;
  Gauge calls_in_flight_;
  Gauge write_queue_mutations_;
  Gauge write_wait_milliseconds_;
  Gauge read_queue_reads_;
  Gauge store_available_;
  Gauge draining_;
  Histogram write_batch_rows_;
  Histogram write_batch_seconds_;

  // One scrape at a time.
  Mutex scrape_mutex_;
  std::vector<std::function<void()>> refreshes_ ABSL_GUARDED_BY(scrape_mutex_);
  std::vector<std::function<std::vector<MetricReading>()>> readers_ ABSL_GUARDED_BY(scrape_mutex_);
  std::function<void(std::vector<prometheus::MetricFamily>&)> collect_
      ABSL_GUARDED_BY(scrape_mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_METRICS_METRICS_H_
