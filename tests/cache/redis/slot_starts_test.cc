// Since when what stands in a slot can have been put there.
#include "cache/redis/slot_starts.h"

#include <memory>

#include <catch2/catch.hpp>

#include "absl/time/time.h"
#include "cache/redis/slot.h"

namespace counter::redis::testing {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

TEST_CASE("slot starts: of a slot nobody spoke of everything is believed") {
  const auto starts = std::make_unique<SlotStarts>();
  CHECK(starts->Of(0) == absl::InfinitePast());
  starts->Raise(SlotSet().set(), absl::InfinitePast());
  CHECK(starts->Of(kSlots - 1) == absl::InfinitePast());
}

TEST_CASE("slot starts: the latest start of a slot's owners counts, and no other slot's") {
  const auto starts = std::make_unique<SlotStarts>();
  SlotSet slots;
  slots.set(7).set(kSlots - 1);
  starts->Raise(slots, kStart);
  CHECK(starts->Of(7) == kStart);
  CHECK(starts->Of(kSlots - 1) == kStart);
  CHECK(starts->Of(8) == absl::InfinitePast());
  starts->Raise(SlotSet().set(7), kStart - absl::Hours(1));
  CHECK(starts->Of(7) == kStart);
  starts->Raise(SlotSet().set(7), kStart + absl::Seconds(1));
  CHECK(starts->Of(7) == kStart + absl::Seconds(1));
  CHECK(starts->Of(kSlots - 1) == kStart);
}

TEST_CASE("slot starts: a node that answers for one slot raises that one alone") {
  const auto starts = std::make_unique<SlotStarts>();
  starts->Raise(7, kStart);
  starts->Raise(7, kStart - absl::Seconds(1));
  starts->Raise(8, absl::InfinitePast());
  CHECK(starts->Of(7) == kStart);
  CHECK(starts->Of(8) == absl::InfinitePast());
}

}  // namespace
}  // namespace counter::redis::testing
