// What tests of replicas share: short words for reads, and callers that go on while something is
// done to a replica.
//
// Threads: Read and ReadLiked any; the rest the test's thread.
#ifndef COUNTER_TESTS_STORAGE_REPLICA_CALLS_H_
#define COUNTER_TESTS_STORAGE_REPLICA_CALLS_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like_store.h"
#include "storage/postgres/store.h"
#include "tests/storage/replicated_postgres.h"

namespace counter::testing {

// A store on the primary that reads from these standbys.
postgres::StoreOptions OptionsWithReplicas(ReplicatedPostgres& servers, absl::Duration lag_max,
                                           const std::vector<int>& standbys = {0});

bool InUse(const postgres::PostgresStore& store, size_t replica = 0);
bool ComesIntoUse(const postgres::PostgresStore& store, size_t replica = 0);

absl::StatusOr<ItemCount> Read(LikeStore& store, int64_t post, Consistency consistency,
                               int64_t min_version = 0, absl::Duration within = absl::Seconds(20));
absl::StatusOr<PairsRead> ReadLiked(LikeStore& store, int64_t user, int64_t post,
                                    Consistency consistency, int64_t min_version = 0);

// Likes a post again and again and reads it without a token, and writes down what a caller must not
// see: a read that failed, or that lacks what was acknowledged longer than `bound` before it.
class Callers {
 public:
  Callers(LikeStore& store, int64_t post, absl::Duration bound);
  ~Callers() { Stop(); }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  // Fails the case if they saw something.
  void StopAndCheck();

 private:
  static constexpr int64_t kMost = 100'000;

  void Stop();
  void Write();
  void ReadOn();

  LikeStore& store_;
  const int64_t post_;
  const absl::Duration bound_;
  std::atomic<bool> stop_{false};
  // When the count n was acknowledged, in milliseconds.
  std::vector<std::atomic<int64_t>> acknowledged_at_;
  std::atomic<int64_t> acknowledged_{0};
  std::atomic<int> reads_{0};
  std::atomic<int> failed_{0};
  std::atomic<int> too_old_{0};
  std::atomic<int64_t> slowest_ms_{0};
  std::thread writer_;
  std::thread reader_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_REPLICA_CALLS_H_
