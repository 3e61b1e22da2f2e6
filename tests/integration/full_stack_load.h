// What runs through both servers of a FullStack while something happens to it: writers that keep
// count of what they were told (tests/storage/postgres_load.h), and readers of what is cached.
//
// Threads: from the test's thread.
#ifndef COUNTER_TESTS_INTEGRATION_FULL_STACK_LOAD_H_
#define COUNTER_TESTS_INTEGRATION_FULL_STACK_LOAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/served_store.h"
#include "tests/storage/postgres_load.h"

namespace counter::testing {

struct MixedLoadOptions {
  int single_writers = 48;  // Like and Unlike.
  int batch_writers = 12;   // WriteLikes.
  int batch = 20;
  int readers = 4;  // Counts and HasLiked, cached.
  int64_t users = 20;
  int64_t items = 30;
  absl::Duration deadline = absl::Seconds(10);
  bool cached_counts_may_go_back = false;  // Else a version that does is a fault.
};

struct MixedLoadReport {
  LoadReport writes;
  int64_t reads = 0;
  int64_t hits = 0;                 // Counts that came from the cache.
  std::vector<std::string> faults;  // What readers saw that may not be; errors too. The first ones.
  absl::Duration slowest_read;
};

// Load from the making to Stop().
class MixedLoad {
 public:
  MixedLoad(const FullStack& stack, const MixedLoadOptions& options);
  ~MixedLoad();
  MixedLoad(const MixedLoad&) = delete;
  MixedLoad& operator=(const MixedLoad&) = delete;

  MixedLoadReport Stop();

 private:
  MixedLoadReport Read(int reader) const;

  const FullStack& stack_;
  const MixedLoadOptions options_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<ServedStore>> stores_;
  std::vector<MixedLoadReport> read_;
  std::vector<std::thread> readers_;
  std::vector<std::unique_ptr<BackgroundLoad>> writers_;
};

// Fails the case unless no caller saw an error and the rows are what callers were told.
void RequireFlawless(const MixedLoadReport& report, const FullStack& stack);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_FULL_STACK_LOAD_H_
