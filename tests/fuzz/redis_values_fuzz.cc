// What stands in Redis: keys never collide and never hold what would cut a command; a cell that can
// be read is written back as it was.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cache/redis/codec.h"
#include "cache/redis/count_value.h"
#include "cache/redis/keys.h"
#include "tests/fuzz/require.h"

namespace counter::redis {
namespace {

using fuzz::Require;

Item DrawItem(FuzzedDataProvider& data) {
  return {ItemType{data.ConsumeIntegral<int16_t>()}, data.ConsumeIntegral<int64_t>()};
}

void CheckKeys(FuzzedDataProvider& data) {
  const Keys keys({{1, "post"}, {2, "reel"}, {3, "a_1"}});
  const Item one = DrawItem(data);
  const Item other = DrawItem(data);
  Require((keys.Count(one) == keys.Count(other)) == (one == other));
  Require((keys.ItemName(one) == keys.ItemName(other)) == (one == other));
  const UserId user = {data.ConsumeIntegral<int64_t>()};
  for (const std::string& key : {keys.Count(one), Keys::RecentLikes(user), Keys::Rate(user),
                                 Keys::RecentUnlikes(user), Keys::RecentVersions(user)}) {
    Require(key.find_first_of(" \r\n\t") == std::string::npos && key.size() < 80);
  }
  // A brace would gather all items in one slot of a cluster.
  Require(keys.Count(one).find('{') == std::string::npos);
}

// A command is its parts, each with its length, whatever bytes they hold.
void CheckCommand(FuzzedDataProvider& data) {
  std::vector<std::string> parts;
  do {
    parts.push_back(data.ConsumeRandomLengthString(40));
  } while (data.remaining_bytes() > 0 && parts.size() < 8);
  std::string expected = absl::StrCat("*", parts.size(), "\r\n");
  std::vector<absl::string_view> views;
  for (const std::string& part : parts) {
    absl::StrAppend(&expected, "$", part.size(), "\r\n", part, "\r\n");
    views.emplace_back(part);
  }
  std::string bytes;
  AppendCommand(views, bytes);
  Require(bytes == expected);
}

void CheckCell(FuzzedDataProvider& data) {
  const std::string text = data.ConsumeRemainingBytesAsString();
  const std::optional<CountCell> cell = ParseCell(text);
  if (cell.has_value()) Require(FormatCell(*cell) == text);
}

}  // namespace
}  // namespace counter::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 2)) {
    case 0:
      counter::redis::CheckKeys(data);
      break;
    case 1:
      counter::redis::CheckCommand(data);
      break;
    default:
      counter::redis::CheckCell(data);
  }
  return 0;
}
