// Opaque tokens of callers: what decodes is what would be encoded, and nothing else decodes.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>

#include "server/consistency_token.h"
#include "server/page_token.h"
#include "tests/fuzz/require.h"

namespace counter {
namespace {

using fuzz::Require;

void CheckDecoding(const std::string& text) {
  const auto token = DecodeConsistencyToken(text);
  if (token.has_value()) {
    Require(text.size() <= kConsistencyTokenBytesMax);
    Require(EncodeConsistencyToken(*token) == text);
  }
  const ListName list = LikesOf(UserId{7}, {});
  const auto position = DecodePageToken(list, text);
  if (position.has_value()) {
    Require(text.size() <= kPageTokenBytesMax);
    Require(EncodePageToken(list, *position) == text);
  }
}

void CheckRoundTrip(FuzzedDataProvider& data) {
  ConsistencyToken token;
  token.item = {ItemType{data.ConsumeIntegralInRange<int16_t>(1, 32767)},
                data.ConsumeIntegralInRange<int64_t>(1, INT64_MAX)};
  token.version = data.ConsumeIntegralInRange<int64_t>(0, INT64_MAX);
  token.timeline = data.ConsumeRandomLengthString(24);
  const std::string text = EncodeConsistencyToken(token);
  const auto decoded = DecodeConsistencyToken(text);
  Require(!decoded.has_value() || *decoded == token);
  // One bit off is no token.
  if (decoded.has_value() && !text.empty()) {
    std::string changed = text;
    char& byte = changed[data.ConsumeIntegralInRange<size_t>(0, text.size() - 1)];
    byte = static_cast<char>(byte ^ (1 << data.ConsumeIntegralInRange(0, 6)));
    const auto other = DecodeConsistencyToken(changed);
    Require(!other.has_value() || EncodeConsistencyToken(*other) == changed);
  }

  const ListName likes = LikesOf(UserId{data.ConsumeIntegral<int64_t>()}, {});
  const ListName likers = LikersOf(token.item);
  const PagePosition position = {data.ConsumeIntegralInRange<int64_t>(0, UINT32_MAX),
                                 token.item.type, token.item.id};
  const std::string page = EncodePageToken(likes, position);
  const auto turned = DecodePageToken(likes, page);
  Require(turned.has_value() && *turned == position);
  // Of another list it is none.
  Require(likes.hash == likers.hash || !DecodePageToken(likers, page).has_value());
}

}  // namespace
}  // namespace counter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  if (data.ConsumeBool()) {
    counter::CheckRoundTrip(data);
  } else {
    counter::CheckDecoding(data.ConsumeRemainingBytesAsString());
  }
  return 0;
}
