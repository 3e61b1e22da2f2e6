// Maps of the slots of a Redis Cluster, against a map that is read one slot at a time: a whole one
// gives every slot its owner, and nothing else is taken.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/redis/node.h"
#include "cache/redis/reply.h"
#include "cache/redis/slot.h"
#include "cache/redis/slot_map.h"
#include "tests/fuzz/require.h"

namespace counter::redis {
namespace {

using fuzz::Require;

Reply Integer(int64_t value) {
  Reply reply;
  reply.kind = Reply::Kind::kInteger;
  reply.integer = value;
  return reply;
}

Reply Text(std::string text) {
  Reply reply;
  reply.kind = Reply::Kind::kText;
  reply.text = std::move(text);
  return reply;
}

Reply List(std::vector<Reply> elements) {
  Reply reply;
  reply.kind = Reply::Kind::kArray;
  reply.elements = std::move(elements);
  return reply;
}

// Anything at all, of few levels.
Reply DrawAnything(FuzzedDataProvider& data, int depth) {
  switch (data.ConsumeIntegralInRange(0, 4)) {
    case 0:
      return Integer(data.ConsumeIntegral<int64_t>());
    case 1:
      return Integer(data.ConsumeIntegralInRange<int64_t>(-1, kSlots));
    case 2:
      return Text(data.ConsumeRandomLengthString(8));
    case 3: {
      std::vector<Reply> elements;
      while (depth > 0 && elements.size() < 5 && data.ConsumeBool()) {
        elements.push_back(DrawAnything(data, depth - 1));
      }
      return List(std::move(elements));
    }
    default:
      return {};
  }
}

// `usual_port` unless the bytes say otherwise.
Reply DrawNode(FuzzedDataProvider& data, int64_t usual_port) {
  constexpr std::array<const char*, 6> kHosts = {"10.0.0.1", "10.0.0.2", "10.0.0.3",
                                                 "::1",      "",         "?"};
  Reply host;
  const auto chosen = data.ConsumeIntegralInRange<size_t>(0, kHosts.size());
  if (chosen < kHosts.size()) host = Text(kHosts[chosen]);
  const bool is_odd = data.ConsumeIntegralInRange(0, 60) == 60;
  const int64_t port = is_odd ? data.ConsumeIntegralInRange<int64_t>(0, 65'536) : usual_port;
  return List({host, Integer(port), Text("id")});
}

// The ranges follow each other up to the last slot, unless the bytes say otherwise.
Reply DrawMap(FuzzedDataProvider& data) {
  std::vector<Reply> ranges;
  // Of more than kOwnersMax ranges, so that the limit can be met; many more would only be slow.
  const int step = data.ConsumeIntegralInRange(25, kSlots);
  const bool are_all_different = data.ConsumeBool();
  for (int first = 0; first < kSlots && ranges.size() < 700;) {
    if (data.ConsumeIntegralInRange(0, 40) == 40) {
      ranges.push_back(DrawAnything(data, 3));
      continue;
    }
    const int last = std::min(first + step, kSlots) - 1;
    const int64_t port = are_all_different ? 7000 + static_cast<int64_t>(ranges.size()) : 7000;
    ranges.push_back(List({Integer(first), Integer(last), DrawNode(data, port)}));
    first = last + 1 +
            (data.ConsumeIntegralInRange(0, 15) == 15 ? data.ConsumeIntegralInRange(-2, 1) : 0);
    first = std::max(first, 0);
  }
  return List(std::move(ranges));
}

// The place that `reply` names, or nothing.
std::optional<Node> PlaceOf(const Reply& reply, const Node& from) {
  if (reply.kind != Reply::Kind::kArray || reply.elements.size() < 2) return std::nullopt;
  const Reply& host = reply.elements[0];
  const Reply& port = reply.elements[1];
  const bool is_known = host.kind == Reply::Kind::kText && !host.text.empty();
  if (host.kind != Reply::Kind::kText && host.kind != Reply::Kind::kNil) return std::nullopt;
  if (is_known && (host.text == "?" || host.text.size() > 255)) return std::nullopt;
  if (port.kind != Reply::Kind::kInteger || port.integer <= 0 || port.integer > 65'535) {
    return std::nullopt;
  }
  return Node{is_known ? host.text : from.host, static_cast<uint16_t>(port.integer)};
}

// Of each slot, the number of its owner in `names`.
struct Owners {
  std::vector<Node> names;
  std::vector<int> of_slot = std::vector<int>(kSlots, -1);

  int NumberOf(const Node& node) {
    const auto found = std::find(names.begin(), names.end(), node);
    if (found == names.end()) return names.push_back(node), static_cast<int>(names.size()) - 1;
    return static_cast<int>(found - names.begin());
  }
};

std::optional<Owners> Expected(const Reply& reply, const Node& from) {
  Owners owners;
  if (reply.kind != Reply::Kind::kArray) return std::nullopt;
  for (const Reply& range : reply.elements) {
    if (range.kind != Reply::Kind::kArray || range.elements.size() < 3) return std::nullopt;
    const Reply& first = range.elements[0];
    const Reply& last = range.elements[1];
    if (first.kind != Reply::Kind::kInteger || last.kind != Reply::Kind::kInteger) {
      return std::nullopt;
    }
    if (first.integer < 0 || last.integer >= kSlots || first.integer > last.integer) {
      return std::nullopt;
    }
    const std::optional<Node> node = PlaceOf(range.elements[2], from);
    if (!node.has_value()) return std::nullopt;
    const int number = owners.NumberOf(*node);
    for (int64_t slot = first.integer; slot <= last.integer; ++slot) {
      int& of_slot = owners.of_slot[static_cast<size_t>(slot)];
      if (of_slot != -1) return std::nullopt;
      of_slot = number;
    }
  }
  if (std::count(owners.of_slot.begin(), owners.of_slot.end(), -1) > 0) return std::nullopt;
  if (owners.names.size() > SlotMap::kOwnersMax) return std::nullopt;
  return owners;
}

void CheckMap(FuzzedDataProvider& data) {
  const Node from = {"10.0.0.9", 7000};
  const Reply reply = data.ConsumeBool() ? DrawMap(data) : DrawAnything(data, 4);
  const std::optional<Owners> expected = Expected(reply, from);
  const absl::StatusOr<SlotMap> map = SlotMap::Read(reply, from);
  Require(map.ok() == expected.has_value());
  if (!map.ok()) return;
  std::vector<int> slots_of(expected->names.size());
  for (int slot = 0; slot < kSlots; ++slot) {
    const int number = expected->of_slot[static_cast<size_t>(slot)];
    ++slots_of[static_cast<size_t>(number)];
    Require(map->OwnerOf(slot) == expected->names[static_cast<size_t>(number)]);
  }
  Require(map->Owners().size() == expected->names.size());
  const size_t one = data.ConsumeIntegralInRange<size_t>(0, expected->names.size() - 1);
  Require(map->SlotsOf(expected->names[one]).count() == static_cast<size_t>(slots_of[one]));

  // One slot moves, and no other.
  SlotMap moved = *map;
  const int slot = data.ConsumeIntegralInRange(0, kSlots - 1);
  const Node next = {"10.0.0.8", data.ConsumeIntegralInRange<uint16_t>(1, 65'535)};
  const bool is_assigned = moved.Assign(slot, next);
  Require(is_assigned || map->Owners().size() == SlotMap::kOwnersMax);
  Require((moved.OwnerOf(slot) == next) == is_assigned);
  Require(SlotMap::Difference(*map, moved).count() == (is_assigned ? 1U : 0U));
}

}  // namespace
}  // namespace counter::redis

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  counter::redis::CheckMap(data);
  return 0;
}
