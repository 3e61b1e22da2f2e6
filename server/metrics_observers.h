// MetricsObservers: carries what the rooms tell their observers into the server's metrics.
//
// Threads: any; never blocks. Ownership: borrows what it is given, which must outlive it.
#ifndef COUNTER_SERVER_METRICS_OBSERVERS_H_
#define COUNTER_SERVER_METRICS_OBSERVERS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/check/sampled_writes.h"
#include "server/counter_service.h"
#include "server/hot_items.h"
#include "server/metrics/metrics.h"
#include "server/rpc_gate.h"
#include "storage/store_observer.h"

namespace counter {

class CallMetrics final : public RpcObserver, public AdmissionObserver {
 public:
  explicit CallMetrics(Metrics& metrics) : metrics_(metrics) {}

  void CallStarted(absl::string_view method) override { metrics_.ForMethod(method).Started(); }
  void CallEnded(absl::string_view method, grpc::StatusCode code, absl::Duration took) override {
    metrics_.ForMethod(method).Handled(code, took);
  }
  void CallRefused(ErrorReason reason) override { metrics_.calls_refused(reason).Add(); }

 private:
  Metrics& metrics_;
};

class ServiceMetrics final : public ServiceObserver {
 public:
  ServiceMetrics(Metrics& metrics, HotItems& hot_items, SampledWrites& sampled_writes)
      : metrics_(metrics), hot_items_(hot_items), sampled_writes_(sampled_writes) {}

  void CountLookups(int64_t hits, int64_t misses) override {
    metrics_.cache_lookups(CacheName::kCounter, CacheResult::kHit).Add(hits);
    metrics_.cache_lookups(CacheName::kCounter, CacheResult::kMiss).Add(misses);
  }
  void RecentLikeLookups(int64_t hits, int64_t misses) override {
    metrics_.cache_lookups(CacheName::kRecentLikes, CacheResult::kHit).Add(hits);
    metrics_.cache_lookups(CacheName::kRecentLikes, CacheResult::kMiss).Add(misses);
  }
  void RateLimited(int64_t likes) override { metrics_.likes_rate_limited().Add(likes); }
  void Refused(ErrorReason reason) override { metrics_.calls_refused(reason).Add(); }
  void OutcomeUnknown(int64_t writes) override { metrics_.writes_unknown().Add(writes); }
  void Wrote(const Item& item) override { hot_items_.Wrote(item); }
  void Acknowledged(const Item& item, const Applied& applied) override {
    sampled_writes_.Acknowledged(item, applied.count, applied.version);
  }

 private:
  Metrics& metrics_;
  HotItems& hot_items_;
  SampledWrites& sampled_writes_;
};

class StoreMetrics final : public StoreObserver {
 public:
  explicit StoreMetrics(Metrics& metrics) : metrics_(metrics) {}

  void OnBatchCommitted(const CommittedBatch& batch) override {
    metrics_.write_batch_rows().Observe(batch.rows);
    metrics_.write_batch_seconds().Observe(absl::ToDoubleSeconds(batch.duration));
  }
  void OnErrors(StoreQueue queue, ErrorReason reason, int count) override {
    const bool is_write = queue == StoreQueue::kWrites;
    (is_write ? metrics_.mutations_dropped(reason) : metrics_.reads_dropped(reason)).Add(count);
  }
  void OnQueueDepth(StoreQueue queue, int depth) override {
    const bool is_write = queue == StoreQueue::kWrites;
    (is_write ? metrics_.write_queue_mutations() : metrics_.read_queue_reads()).Set(depth);
  }
  void OnWriteWait(absl::Duration wait) override {
    metrics_.write_wait_milliseconds().Set(absl::ToInt64Milliseconds(wait));
  }

 private:
  Metrics& metrics_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_METRICS_OBSERVERS_H_
