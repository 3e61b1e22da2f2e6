// The vocabulary of likes: users, items, mutations. Values only; knows of no store, cache or
// server. Everything here may be used from any thread.
#ifndef COUNTER_STORAGE_LIKE_H_
#define COUNTER_STORAGE_LIKE_H_

#include <compare>
#include <cstdint>
#include <utility>

namespace counter {

// A user's id. Valid: 1 to 2^63-1.
struct UserId {
  int64_t value = 0;

  friend auto operator<=>(const UserId&, const UserId&) = default;
  template <class H>
  friend H AbslHashValue(H state, const UserId& user) {
    return H::combine(std::move(state), user.value);
  }
};

// A configured kind of item as stores keep it (post=1, reel=2, comment=3). Valid: 1 to 32767.
struct ItemType {
  int16_t value = 0;

  friend auto operator<=>(const ItemType&, const ItemType&) = default;
  template <class H>
  friend H AbslHashValue(H state, const ItemType& type) {
    return H::combine(std::move(state), type.value);
  }
};

// The thing that is liked. Ordered by type, then id: the order in which stores lock counters.
struct Item {
  ItemType type;
  int64_t id = 0;  // Valid: 1 to 2^63-1.

  friend auto operator<=>(const Item&, const Item&) = default;
  template <class H>
  friend H AbslHashValue(H state, const Item& item) {
    return H::combine(std::move(state), item.type, item.id);
  }
};

enum class Action : uint8_t { kLike, kUnlike };

// A user's wish about one item.
struct Mutation {
  UserId user;
  Item item;
  Action action = Action::kLike;

  friend bool operator==(const Mutation&, const Mutation&) = default;
};

// A 64-bit permutation with good avalanche: the finalizer of SplitMix64 (Steele, Lea, Flood 2014,
// constants of variant 13 by Stafford). Fixed for ever: digests in stores are made of it.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// What a liker adds to (and, the same, takes from) its item's digest: the digest of an item is the
// XOR of LikerMix over its likers, 0 for none.
constexpr int64_t LikerMix(UserId user) {
  return static_cast<int64_t>(Mix64(static_cast<uint64_t>(user.value)));
}

// Items are spread over this many buckets for life; lanes, and one day several primaries, own
// ranges of buckets. Fixed for ever.
inline constexpr int kBuckets = 1024;
constexpr int BucketOf(const Item& item) {
  const uint64_t type = static_cast<uint64_t>(item.type.value) << 48;
  return static_cast<int>(Mix64(static_cast<uint64_t>(item.id) ^ type) % kBuckets);
}

}  // namespace counter

#endif  // COUNTER_STORAGE_LIKE_H_
