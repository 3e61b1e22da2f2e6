// The contract suite of LikeStore: what design.md section 3 promises and a store can keep, and each
// sentence of like_store.h, like_maintenance.h and counter_copies.h.
//
// Use it to hold a store to the interface: link the suite into a test that defines
// MakeStoreUnderTest(). It tests no driver and no crash: that is each implementation's own.
#ifndef COUNTER_TESTS_CONTRACT_STORE_CONTRACT_H_
#define COUNTER_TESTS_CONTRACT_STORE_CONTRACT_H_

#include <cstdint>
#include <memory>

#include "storage/counter_copies.h"
#include "storage/like_maintenance.h"
#include "storage/like_store.h"

namespace counter::testing {

// A store, and what the suite must be able to do to it behind its back. All of it is called while
// no call on the store is open.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;

  virtual LikeStore& store() = 0;
  // The same store.
  virtual LikeMaintenance& maintenance() = 0;
  virtual CounterCopies& copies() = 0;
  // Stops the store and opens it anew on the same data; store() is another object then.
  virtual void Reopen() = 0;
  // Sets the stored counter of an item, which is made if it is not there, at version 1 then.
  virtual void PlantCounter(const Item& item, int64_t count, int64_t digest) = 0;
  // Adds or removes the row of a like without touching the item's counter. liked_at: in seconds
  // since 1970.
  void PlantLike(UserId user, const Item& item) { PlantLikeAt(user, item, 1); }
  virtual void PlantLikeAt(UserId user, const Item& item, int64_t liked_at) = 0;
  virtual void RemoveLike(UserId user, const Item& item) = 0;
  // Makes the optional index of likers, as an operator would; store() may be another object then.
  virtual void MakeLikersIndex() = 0;
  // Whether the schema itself refuses a negative count for the item's counter.
  virtual bool RefusesNegativeCount(const Item& item) = 0;
};

// A fresh store with the types 1 and 2, on a fresh place. Defined by the test of each
// implementation.
std::unique_ptr<StoreUnderTest> MakeStoreUnderTest();

}  // namespace counter::testing

#endif  // COUNTER_TESTS_CONTRACT_STORE_CONTRACT_H_
