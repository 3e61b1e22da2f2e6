// Checks of requests: whatever a caller sends is either named as wrong or is within every bound.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "server/consistency_token.h"
#include "server/item_types.h"
#include "server/request_check.h"
#include "storage/like_store.h"
#include "tests/fuzz/require.h"

namespace counter {
namespace {

using fuzz::Require;

const ItemTypes& Types() {
  static const auto* const types =
      new ItemTypes({{"post", ItemType{1}}, {"reel", ItemType{2}}, {"comment", ItemType{3}}});
  return *types;
}

// A careful caller names a few items that there may be; any other one anything.
ItemRef DrawItem(FuzzedDataProvider& data, bool is_careful = false) {
  ItemRef item;
  item.type = is_careful || data.ConsumeBool()
                  ? data.PickValueInArray<std::string>({"post", "reel", "comment"})
                  : data.ConsumeRandomLengthString(80);
  item.id = is_careful ? data.ConsumeIntegralInRange(1, 2) : data.ConsumeIntegral<int64_t>();
  return item;
}

void CheckOne(FuzzedDataProvider& data) {
  RequestCheck check(Types());
  const ItemRef ref = DrawItem(data);
  const int64_t id = data.ConsumeIntegral<int64_t>();
  const int action = data.ConsumeIntegral<int>();
  const UserId user = check.User("user_id", id);
  const Item item = check.ItemAt("item", ref);
  const Action checked = check.ActionAt("action", action);
  if (check.ok()) {
    Require(user.value == id && id >= 1 && item.id == ref.id && item.id >= 1);
    Require(Types().NameOf(item.type) == ref.type);
    Require(checked == Action::kLike || checked == Action::kUnlike);
  } else {
    Require(ReasonOf(check.error()) == ErrorReason::kInvalidRequest);
    Require(!FieldViolationsOf(check.error()).empty());
    for (const FieldViolation& violation : FieldViolationsOf(check.error())) {
      // It goes into logs and headers.
      Require(violation.description.size() < 4096);
    }
  }
}

// Tokens as callers have them: of this history, or of another one, or anything.
std::string DrawToken(FuzzedDataProvider& data, const ItemRef& of, bool is_careful) {
  if (!is_careful && data.ConsumeBool()) return data.ConsumeRandomLengthString(200);
  ConsistencyToken token;
  token.item = {Types().Find(of.type).value_or(ItemType{}), of.id};
  token.version = data.ConsumeIntegralInRange<int64_t>(0, 9);
  token.timeline = is_careful || data.ConsumeBool() ? "timeline" : "another";
  return EncodeConsistencyToken(token);
}

void CheckReads(FuzzedDataProvider& data) {
  const bool is_careful = data.ConsumeBool();
  CountsRequest request;
  request.consistency = data.ConsumeIntegralInRange(is_careful ? 0 : -1, is_careful ? 1 : 3);
  while (data.remaining_bytes() > 0 && request.items.size() < 40) {
    request.items.push_back(DrawItem(data, is_careful));
    if (data.ConsumeBool()) {
      request.consistency_tokens.push_back(DrawToken(data, request.items.back(), is_careful));
    }
  }
  RequestCheck check(Types());
  const CheckedRead read = CheckRead(check, request, "timeline");
  if (!check.ok()) return Require(!FieldViolationsOf(check.error()).empty());
  Require(read.index.size() == request.items.size());
  std::set<Item> distinct;
  for (const ItemRead& item : read.distinct) Require(distinct.insert(item.item).second);
  for (size_t i = 0; i < request.items.size(); ++i) {
    Require(read.index[i] < read.distinct.size());
    const Item& item = read.distinct[read.index[i]].item;
    Require(item.id == request.items[i].id && Types().NameOf(item.type) == request.items[i].type);
  }
  // No token asks in vain.
  for (const std::string& text : request.consistency_tokens) {
    const auto token = DecodeConsistencyToken(text);
    Require(token.has_value() && distinct.count(token->item) == 1);
    if (read.consistency == Consistency::kStrong) continue;
    Require(token->timeline == "timeline");
    for (const ItemRead& item : read.distinct) {
      Require(item.item != token->item || item.min_version >= token->version);
    }
  }
}

void CheckLists(FuzzedDataProvider& data) {
  const int page_size = data.ConsumeIntegral<int>();
  std::vector<std::string> names;
  while (data.remaining_bytes() > 0 && names.size() < 8) names.push_back(DrawItem(data).type);
  RequestCheck check(Types());
  const int checked = check.PageSizeAt("page_size", page_size);
  const std::vector<ItemType> types = check.TypesAt("item_types", names);
  Require(checked >= 1 && checked <= kPageSizeMax);
  if (!check.ok()) return;
  Require(page_size == 0 || page_size == checked);
  Require(std::is_sorted(types.begin(), types.end()) &&
          std::adjacent_find(types.begin(), types.end()) == types.end());
  for (const std::string& name : names) {
    Require(std::find(types.begin(), types.end(), *Types().Find(name)) != types.end());
  }
}

}  // namespace
}  // namespace counter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0:
      counter::CheckOne(data);
      break;
    case 1:
      counter::CheckLists(data);
      break;
    default:
      counter::CheckReads(data);
  }
  return 0;
}
