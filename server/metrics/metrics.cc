#include "server/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "absl/strings/strip.h"
#include "server/metrics/process_metrics.h"

namespace counter {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// As Go's codes.Code prints them: dashboards for gRPC expect these.
constexpr const char* kCodeNames[] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};
constexpr int kUnknownCode = 2;

constexpr const char* kTypeNames[] = {"unary", "client_stream", "server_stream", "bidi_stream"};

constexpr const char* kCacheNames[] = {"counter", "recent_likes"};
constexpr const char* kCacheResults[] = {"hit", "miss"};

std::vector<double> CallSeconds() {
  // 5, 15, 20 and 30 ms are what docs/operations.md promises of one call or another.
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.015, 0.02,
          0.03,   0.05,    0.1,    0.25,  0.5,    1,     2.5,  5,     10};
}
std::vector<double> BatchSeconds() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};
}
std::vector<double> BatchRows() {
  return {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000};
}

MetricFamily Family(MetricType type, const char* name, const char* help) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

void AddCounter(MetricFamily& family, Labels labels, const Counter& counter) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(counter.value());
  family.metric.push_back(std::move(metric));
}

void AddHistogram(MetricFamily& family, Labels labels, const Histogram& histogram) {
  ClientMetric metric = histogram.Collect();
  metric.label = std::move(labels);
  family.metric.push_back(std::move(metric));
}

MetricFamily SingleCounter(const char* name, const char* help, const Counter& counter) {
  MetricFamily family = Family(MetricType::Counter, name, help);
  AddCounter(family, {}, counter);
  return family;
}

MetricFamily SingleGauge(const char* name, const char* help, Labels labels, int64_t value) {
  MetricFamily family = Family(MetricType::Gauge, name, help);
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
  return family;
}

MetricFamily SingleHistogram(const char* name, const char* help, const Histogram& histogram) {
  MetricFamily family = Family(MetricType::Histogram, name, help);
  AddHistogram(family, {}, histogram);
  return family;
}

template <size_t reasons>
MetricFamily ByReason(const char* name, const char* help,
                      const std::array<Counter, reasons>& counters) {
  MetricFamily family = Family(MetricType::Counter, name, help);
  for (size_t i = 1; i < reasons; ++i) {
    const absl::string_view reason = ErrorReasonName(static_cast<ErrorReason>(i));
    AddCounter(family, {{"reason", std::string(reason)}}, counters[i]);
  }
  return family;
}

void AppendReadings(const std::vector<MetricReading>& readings, std::vector<MetricFamily>& all) {
  for (const MetricReading& reading : readings) {
    const bool is_counter = reading.kind == MetricReading::Kind::kCounter;
    if (all.empty() || all.back().name != reading.name) {
      all.push_back(Family(is_counter ? MetricType::Counter : MetricType::Gauge,
                           reading.name.c_str(), reading.help.c_str()));
    }
    ClientMetric metric;
    for (const auto& [name, value] : reading.labels) metric.label.push_back({name, value});
    (is_counter ? metric.counter.value : metric.gauge.value) = static_cast<double>(reading.value);
    all.back().metric.push_back(std::move(metric));
  }
}

// "/counter.v1.CounterService/Like" is method Like of counter.v1.CounterService.
Labels MethodLabels(const GrpcMethod& method) {
  absl::string_view name = method.name;
  absl::ConsumePrefix(&name, "/");
  const size_t slash = name.find('/');
  const bool has_both = slash != absl::string_view::npos;
  return {{"grpc_type", kTypeNames[static_cast<size_t>(method.type)]},
          {"grpc_service", std::string(has_both ? name.substr(0, slash) : name)},
          {"grpc_method", std::string(has_both ? name.substr(slash + 1) : name)}};
}

}  // namespace

void Counter::RaiseTo(int64_t total) {
  int64_t seen = value();
  while (seen < total && !value_.compare_exchange_weak(seen, total, std::memory_order_relaxed)) {
  }
}

MethodMetrics::MethodMetrics() : seconds_(CallSeconds()) {}

void MethodMetrics::Handled(int grpc_code, absl::Duration took) {
  const bool exists = grpc_code >= 0 && grpc_code < kCodes;
  handled_[exists ? grpc_code : kUnknownCode].Add();
  seconds_.Observe(absl::ToDoubleSeconds(took));
}

Metrics::Metrics(const std::vector<GrpcMethod>& methods, std::string version)
    : version_(std::move(version)),
      write_batch_rows_(BatchRows()),
      write_batch_seconds_(BatchSeconds()) {
  for (const GrpcMethod& method : methods) {
    auto [found, is_new] = by_name_.try_emplace(method.name, nullptr);
    if (!is_new) continue;
    found->second = methods_.emplace_back(method, std::make_unique<MethodMetrics>()).second.get();
  }
  unknown_method_ =
      methods_.emplace_back(GrpcMethod("unknown"), std::make_unique<MethodMetrics>()).second.get();
}

MethodMetrics& Metrics::ForMethod(absl::string_view method) {
  const auto found = by_name_.find(method);
  return found != by_name_.end() ? *found->second : *unknown_method_;
}

void Metrics::OnScrape(std::function<void()> refresh) {
  MutexLock lock(scrape_mutex_);
  refreshes_.push_back(std::move(refresh));
}

void Metrics::AddReadings(std::function<std::vector<MetricReading>()> read) {
  MutexLock lock(scrape_mutex_);
  readers_.push_back(std::move(read));
}

std::vector<MetricFamily> Metrics::Collect() const {
  MetricFamily started =
      Family(MetricType::Counter, "grpc_server_started_total", "Calls that came in.");
  MetricFamily handled = Family(MetricType::Counter, "grpc_server_handled_total",
                                "Calls that ended, refused ones too, by code.");
  MetricFamily seconds = Family(MetricType::Histogram, "grpc_server_handling_seconds",
                                "From a call's arrival to its end.");
  for (const auto& [named, method] : methods_) {
    const Labels labels = MethodLabels(named);
    AddCounter(started, labels, method->started_);
    AddHistogram(seconds, labels, method->seconds_);
    for (int code = 0; code < MethodMetrics::kCodes; ++code) {
      Labels with_code = labels;
      with_code.push_back({"grpc_code", kCodeNames[code]});
      AddCounter(handled, std::move(with_code), method->handled_[code]);
    }
  }
  MetricFamily lookups = Family(MetricType::Counter, "counter_cache_lookups_total",
                                "Items looked up in a cache, by what it knew.");
  for (int cache = 0; cache < 2; ++cache) {
    for (int result = 0; result < 2; ++result) {
      AddCounter(lookups, {{"cache", kCacheNames[cache]}, {"result", kCacheResults[result]}},
                 cache_lookups_[cache][result]);
    }
  }
  std::vector<MetricFamily> all;
  all.push_back(std::move(started));
  all.push_back(std::move(handled));
  all.push_back(std::move(seconds));
  all.push_back(SingleGauge("counter_calls_in_flight", "Calls that are being worked on.", {},
                            calls_in_flight_.value()));
  all.push_back(ByReason("counter_calls_refused_total",
                         "Calls refused before any work for them, by reason.", calls_refused_));
  all.push_back(ByReason("counter_mutations_dropped_total",
                         "Likes and unlikes that never reached the store, by reason.",
                         mutations_dropped_));
  all.push_back(ByReason("counter_reads_dropped_total",
                         "Reads that left the read queue without an answer, by reason.",
                         reads_dropped_));
  all.push_back(SingleCounter("counter_writes_unknown_total",
                              "Likes and unlikes whose outcome the caller was not told.",
                              writes_unknown_));
  all.push_back(SingleCounter("counter_likes_rate_limited_total",
                              "Likes refused by their user's rate limit.", likes_rate_limited_));
  all.push_back(SingleHistogram("counter_write_batch_rows",
                                "Likes and unlikes in a transaction of the store.",
                                write_batch_rows_));
  all.push_back(SingleHistogram("counter_write_batch_seconds",
                                "From a transaction's begin to its flushed commit.",
                                write_batch_seconds_));
  all.push_back(SingleGauge("counter_write_queue_mutations",
                            "Likes and unlikes that wait for the store.", {},
                            write_queue_mutations_.value()));
  all.push_back(SingleGauge("counter_write_wait_milliseconds",
                            "How long a like that came now would wait for its commit.", {},
                            write_wait_milliseconds_.value()));
  all.push_back(SingleGauge("counter_read_queue_reads", "Reads that wait for the store.", {},
                            read_queue_reads_.value()));
  all.push_back(SingleGauge("counter_store_available", "1 while the store can serve.", {},
                            store_available_.value()));
  all.push_back(SingleGauge("counter_draining", "1 from the signal to end until the end.", {},
                            draining_.value()));
  all.push_back(std::move(lookups));
  all.push_back(SingleCounter("counter_log_lines_lost_total",
                              "Log lines that could not be written.", log_lines_lost_));
  all.push_back(
      SingleGauge("counter_build_info", "The version that runs.", {{"version", version_}}, 1));
  return all;
}

void Metrics::OnCollect(std::function<void(std::vector<MetricFamily>&)> collect) {
  MutexLock lock(scrape_mutex_);
  collect_ = std::move(collect);
}

std::vector<MetricFamily> Metrics::Gather() {
  MutexLock lock(scrape_mutex_);
  for (const std::function<void()>& refresh : refreshes_) refresh();
  std::vector<MetricFamily> all = Collect();
  AppendProcessMetrics(all);
  for (const auto& read : readers_) AppendReadings(read(), all);
  if (collect_ != nullptr) collect_(all);
  return all;
}

std::string Metrics::Expose() { return prometheus::TextSerializer().Serialize(Gather()); }

}  // namespace counter
