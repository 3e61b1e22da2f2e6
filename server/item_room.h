// ItemRoom: how many items (or mutations) the calls that are worked on may have together.
//
// Use it where batches come in: a bound on calls says little of memory when one call may carry a
// thousand mutations, each with a result, and perhaps an error, of its own. Calls of one item are
// counted, but always taken: Admission bounds their number. It is not for the store's queue, which
// has a limit of its own.
//
// Threads: any. Ownership: outlives what it gave out.
#ifndef COUNTER_SERVER_ITEM_ROOM_H_
#define COUNTER_SERVER_ITEM_ROOM_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/error.h"

namespace counter {

class ItemRoom {
 public:
  // Room for so many items that is given back when this goes.
  class Share {
   public:
    Share(Share&& other) noexcept
        : room_(std::exchange(other.room_, nullptr)), items_(other.items_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (room_ != nullptr) room_->taken_.fetch_sub(items_, std::memory_order_relaxed);
    }

   private:
    friend class ItemRoom;
    Share(ItemRoom& room, int64_t items) : room_(&room), items_(items) {}

    ItemRoom* room_;
    int64_t items_;
  };

  // `what` is a literal, for the words of a refusal: "items in flight".
  ItemRoom(int items_max, const char* what) : items_max_(items_max), what_(what) {}

  // kOverloaded, with a retry hint and marked as not applied, if there is not so much room. A
  // single item, and what finds the room empty, is taken in any case.
  absl::StatusOr<Share> Take(int64_t items) {
    const int64_t before = taken_.fetch_add(items, std::memory_order_relaxed);
    Share share(*this, items);
    if (items == 1 || before == 0 || before + items <= items_max_) return share;
    return Overloaded();
  }

  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  absl::Status Overloaded() const {
    constexpr absl::Duration kRetryAfter = absl::Milliseconds(250);
    absl::Status error = MakeError(
        ErrorReason::kOverloaded,
        absl::StrCat("the server has ", items_max_, " ", what_, ", its limit; try again in ",
                     absl::ToInt64Milliseconds(kRetryAfter), " ms"));
    SetRetryAfter(error, kRetryAfter);
    SetQuotaViolation(error, {"server", absl::StrCat(items_max_, " ", what_)});
    MarkNotApplied(error);
    return error;
  }

  const int items_max_;
  const char* const what_;
  std::atomic<int64_t> taken_ = 0;
};

}  // namespace counter

#endif  // COUNTER_SERVER_ITEM_ROOM_H_
