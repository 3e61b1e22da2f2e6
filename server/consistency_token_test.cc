#include "server/consistency_token.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>

namespace counter {
namespace {

ConsistencyToken Sample() { return {{{3}, 456}, 1'700'000'000'000'001, "a1B2c3D4e5F6g7H8"}; }

TEST_CASE("a consistency token comes back as it was made") {
  for (const ConsistencyToken& token :
       {Sample(), ConsistencyToken{{{1}, 1}, 0, "t"},
        ConsistencyToken{{{32767}, std::numeric_limits<int64_t>::max()},
                         std::numeric_limits<int64_t>::max(),
                         std::string(64, 'z')}}) {
    const std::string text = EncodeConsistencyToken(token);
    CHECK(text.size() <= kConsistencyTokenBytesMax);
    CHECK(DecodeConsistencyToken(text) == token);
  }
}

TEST_CASE("a consistency token with one character changed is refused") {
  const std::string text = EncodeConsistencyToken(Sample());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string garbled = text;
    garbled[i] = garbled[i] == 'A' ? 'B' : 'A';
    INFO("position " << i);
    CHECK_FALSE(DecodeConsistencyToken(garbled).has_value());
  }
}

TEST_CASE("a consistency token that was cut or lengthened is refused") {
  const std::string text = EncodeConsistencyToken(Sample());
  for (size_t length = 0; length < text.size(); ++length) {
    CHECK_FALSE(DecodeConsistencyToken(text.substr(0, length)).has_value());
  }
  CHECK_FALSE(DecodeConsistencyToken(text + "A").has_value());
  CHECK_FALSE(DecodeConsistencyToken(text + "==").has_value());
  CHECK_FALSE(DecodeConsistencyToken(std::string(100'000, 'A')).has_value());
}

TEST_CASE("text that is no consistency token is refused") {
  for (const std::string text : {"", "x", "hello world", "AAAA", "%s%n", "\xff\xfe"}) {
    CHECK_FALSE(DecodeConsistencyToken(text).has_value());
  }
}

}  // namespace
}  // namespace counter
