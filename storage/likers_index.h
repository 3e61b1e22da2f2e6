// The optional index by which a store finds the likers of an item (LikeStore::ListLikers): what a
// caller is told where it is not there.
//
// Each store makes the index in its own way. Pure; thread-safe.
#ifndef COUNTER_STORAGE_LIKERS_INDEX_H_
#define COUNTER_STORAGE_LIKERS_INDEX_H_

#include "absl/status/status.h"
#include "base/error.h"

namespace counter {

inline absl::Status LikersNotIndexed() {
  return MakeError(ErrorReason::kLikersNotIndexed,
                   "this service keeps no list of the likers of such an item; its operator can "
                   "have one made (LIKERS_INDEX)");
}

}  // namespace counter

#endif  // COUNTER_STORAGE_LIKERS_INDEX_H_
