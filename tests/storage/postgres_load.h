// Load on one or several stores of one database, and what its answers must have in common with the
// rows that are there afterwards.
//
// Worker threads apply random likes and unlikes of random pairs, in batches, and write down what
// they were answered. Afterwards, for each pair: likes that changed minus unlikes that changed is
// what is there now, but for as much as the answers of unknown outcome leave open.
//
// Threads: from the test's thread.
#ifndef COUNTER_TESTS_STORAGE_POSTGRES_LOAD_H_
#define COUNTER_TESTS_STORAGE_POSTGRES_LOAD_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/error.h"
#include "storage/like_store.h"
#include "tests/support/postgres_server.h"

namespace counter::testing {

struct LoadOptions {
  int threads = 16;
  int batch = 1;
  int64_t users = 20;
  int64_t items = 30;
  int unlikes_percent = 40;
  absl::Duration duration = absl::Seconds(2);
  absl::Duration deadline = absl::Seconds(20);
  // Counts the writes that were applied, or may have been, while the load runs; may be null.
  std::atomic<int64_t>* written = nullptr;
};

struct PairTally {
  int liked = 0;  // Calls that were told that they made the change.
  int unliked = 0;
  int unknown_likes = 0;
  int unknown_unlikes = 0;
};

struct LoadReport {
  int64_t ok = 0;
  int64_t not_applied = 0;
  int64_t unknown = 0;
  std::map<ErrorReason, int64_t> errors;
  std::map<std::pair<int64_t, int64_t>, PairTally> pairs;  // By (user, item).
  absl::Duration slowest;                                  // Call, whatever its end.
  absl::Time last_ok;
  std::vector<std::string> faults;  // Answers that no store may give.
};

// Adds what another load saw of the same pairs.
void Merge(LoadReport& into, const LoadReport& from);

// Runs until the time is over, or `*stop` if it is given.
LoadReport RunLoad(const std::vector<LikeStore*>& stores, const LoadOptions& options,
                   const std::atomic<bool>* stop = nullptr);

// Load that runs while the test does something else. Stops with the object.
class BackgroundLoad {
 public:
  BackgroundLoad(std::vector<LikeStore*> stores, const LoadOptions& options);
  ~BackgroundLoad();
  BackgroundLoad(const BackgroundLoad&) = delete;
  BackgroundLoad& operator=(const BackgroundLoad&) = delete;
  LoadReport Stop();

 private:
  std::atomic<bool> stop_{false};
  LoadReport report_;
  std::thread thread_;
};

// What of the rows contradicts the answers; empty if nothing does.
std::vector<std::string> Contradictions(const LoadReport& report, const PostgresServer& server,
                                        const std::string& url);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_POSTGRES_LOAD_H_
