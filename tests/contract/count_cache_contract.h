// The contract suite of CountCache: one case for each sentence of count_cache.h, and of
// count_peek.h.
//
// Use it to hold an implementation to the interface: link the suite into a test that defines
// MakeCountCacheUnderTest(). It tests no driver, no bound on memory and no threads: that is each
// implementation's own.
#ifndef COUNTER_TESTS_CONTRACT_COUNT_CACHE_CONTRACT_H_
#define COUNTER_TESTS_CONTRACT_COUNT_CACHE_CONTRACT_H_

#include <memory>

#include "absl/time/time.h"
#include "cache/count_cache.h"
#include "cache/count_peek.h"

namespace counter::testing {

// A cache, and what the suite must be able to do to it.
class CountCacheUnderTest {
 public:
  virtual ~CountCacheUnderTest() = default;

  virtual CountCache& cache() = 0;
  // The same cache, to look at.
  virtual CountPeek& peek() = 0;
  // The wall clock that the cache goes by.
  virtual absl::Time Now() = 0;
  // Lets time pass: a manual clock moves, a real one is waited for.
  virtual void Elapse(absl::Duration duration) = 0;
  // Makes the cache lose what it has of an item.
  virtual void Evict(const Item& item) = 0;
  // Whether every call goes over a wire: then the longest walks are shorter, unless the long form
  // is asked for.
  virtual bool is_remote() const { return false; }
};

// An empty cache whose values live for `ttl` +-10 %. Defined by the test of each implementation.
std::unique_ptr<CountCacheUnderTest> MakeCountCacheUnderTest(absl::Duration ttl);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_COUNT_CACHE_CONTRACT_H_
