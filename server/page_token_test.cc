#include "server/page_token.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

namespace counter {
namespace {

const PagePosition kPosition = {1'700'000'000, ItemType{3}, 456};
const ListName kList = LikesOf(UserId{1}, {ItemType{1}, ItemType{3}});

TEST_CASE("a page token comes back as the position that it was made of") {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const PagePosition& position :
       {kPosition, PagePosition{}, PagePosition{kMax, ItemType{32767}, kMax}}) {
    const std::string token = EncodePageToken(kList, position);
    CHECK(token.size() <= kPageTokenBytesMax);
    const std::optional<PagePosition> decoded = DecodePageToken(kList, token);
    REQUIRE(decoded.has_value());
    CHECK(*decoded == position);
  }
}

TEST_CASE("a page token is of one list only") {
  const std::string token = EncodePageToken(kList, kPosition);
  for (const ListName& other :
       {LikesOf(UserId{2}, {ItemType{1}, ItemType{3}}), LikesOf(UserId{1}, {ItemType{1}}),
        LikesOf(UserId{1}, {}), LikersOf(Item{ItemType{1}, 1}), LikersOf(Item{ItemType{3}, 456})}) {
    CHECK_FALSE(DecodePageToken(other, token).has_value());
  }
  CHECK(LikersOf(Item{ItemType{1}, 2}).hash != LikersOf(Item{ItemType{2}, 1}).hash);
}

TEST_CASE("no text that differs from a page token in one place is one") {
  const std::string token = EncodePageToken(kList, kPosition);
  for (size_t i = 0; i < token.size(); ++i) {
    for (const char c : {'A', 'b', '_', '=', ' ', '\0'}) {
      std::string changed = token;
      changed[i] = c;
      if (changed != token) CHECK_FALSE(DecodePageToken(kList, changed).has_value());
    }
    CHECK_FALSE(DecodePageToken(kList, token.substr(0, i)).has_value());
  }
  CHECK_FALSE(DecodePageToken(kList, token + "A").has_value());
  CHECK_FALSE(DecodePageToken(kList, token + "=").has_value());
  CHECK_FALSE(DecodePageToken(kList, std::string(1'000'000, 'A')).has_value());
}

}  // namespace
}  // namespace counter
