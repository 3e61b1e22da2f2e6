// Who owns which slot: replies to CLUSTER SLOTS, whole, partial and hostile; and what redirects
// say.
#include "cache/redis/slot_map.h"

#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "cache/redis/redirect.h"
#include "tests/cache/redis/scripted_channel.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

using counter::testing::Sized;
using counter::testing::TestSeed;
using Kind = Redirect::Kind;

const Node kAsked = {"10.0.0.9", 7009};

Reply NodeReply(const std::string& host, int64_t port) {
  return Array({Text(host), Integer(port), Text("0123456789abcdef"), Array({})});
}
Reply Range(int64_t first, int64_t last, Reply owner) {
  return Array({Integer(first), Integer(last), std::move(owner), NodeReply("10.0.1.1", 7101)});
}
Reply WholeMap() {
  return Array({Range(0, 5000, NodeReply("10.0.0.1", 7001)),
                Range(5001, 5001, NodeReply("10.0.0.2", 7002)),
                Range(5002, 9000, NodeReply("10.0.0.1", 7001)),
                Range(9001, 16383, NodeReply("10.0.0.3", 7003))});
}

TEST_CASE("slot map: each slot has the owner that the cluster names, replicas are no owners") {
  const auto map = SlotMap::Read(WholeMap(), kAsked);
  REQUIRE(map.ok());
  CHECK(map->OwnerOf(0) == Node{"10.0.0.1", 7001});
  CHECK(map->OwnerOf(5000) == Node{"10.0.0.1", 7001});
  CHECK(map->OwnerOf(5001) == Node{"10.0.0.2", 7002});
  CHECK(map->OwnerOf(5002) == Node{"10.0.0.1", 7001});
  CHECK(map->OwnerOf(16383) == Node{"10.0.0.3", 7003});
  CHECK(map->OwnerIndexOf(0) == map->OwnerIndexOf(9000));
  CHECK(map->OwnerIndexOf(0) != map->OwnerIndexOf(5001));
  CHECK(map->Owners().size() == 3);
  CHECK(map->SlotsOf({"10.0.0.2", 7002}).count() == 1);
  CHECK(map->SlotsOf({"10.0.0.1", 7001}).count() == 5001 + 3999);
  CHECK(map->SlotsOf({"10.0.1.1", 7101}).none());
}

TEST_CASE("slot map: a node that does not know its own host has the one that we asked at") {
  for (const Reply& host : {Nil(), Text("")}) {
    const auto map = SlotMap::Read(
        Array({Array({Integer(0), Integer(16383), Array({host, Integer(7001)})})}), kAsked);
    REQUIRE(map.ok());
    CHECK(map->OwnerOf(77) == Node{"10.0.0.9", 7001});
  }
}

TEST_CASE("slot map: a map that is not whole is refused") {
  const Reply owner = NodeReply("10.0.0.1", 7001);
  Reply broken;
  SECTION("an error") { broken = Error("ERR This instance has cluster support disabled"); }
  SECTION("nothing") { broken = Array({}); }
  SECTION("a node that knows only itself") { broken = Array({Range(0, 5460, owner)}); }
  SECTION("a hole in the middle") {
    broken = Array({Range(0, 100, owner), Range(102, 16383, owner)});
  }
  SECTION("the last slot missing") { broken = Array({Range(0, 16382, owner)}); }
  SECTION("a slot with two owners") {
    broken = Array({Range(0, 16383, owner), Range(7, 7, NodeReply("10.0.0.2", 7002))});
  }
  SECTION("a slot that there is not") { broken = Array({Range(0, 16384, owner)}); }
  SECTION("a negative slot") { broken = Array({Range(-1, 16383, owner)}); }
  SECTION("an end before its beginning") { broken = Array({Range(5, 4, owner)}); }
  SECTION("a port that there is not") { broken = Array({Range(0, 16383, NodeReply("h", 65536))}); }
  SECTION("no port") { broken = Array({Range(0, 16383, NodeReply("h", 0))}); }
  SECTION("a host that was not configured") {
    broken = Array({Range(0, 16383, NodeReply("?", 7001))});
  }
  SECTION("a host without an end") {
    broken = Array({Range(0, 16383, NodeReply(std::string(256, 'h'), 7001))});
  }
  SECTION("no owner") { broken = Array({Array({Integer(0), Integer(16383)})}); }
  SECTION("an owner that is a number") {
    broken = Array({Array({Integer(0), Integer(16383), Integer(1)})});
  }
  SECTION("slots as text") { broken = Array({Array({Text("0"), Text("16383"), owner})}); }
  SECTION("more owners than a cluster has") {
    for (int64_t slot = 0; slot < kSlots; ++slot)
      broken.elements.push_back(Range(slot, slot, NodeReply("10.0.0.1", 1 + slot)));
    broken.kind = Reply::Kind::kArray;
  }
  const auto map = SlotMap::Read(broken, kAsked);
  REQUIRE_FALSE(map.ok());
  CHECK(absl::StrContains(map.status().message(), "refused a map"));
}

TEST_CASE("slot map: whatever a reply is, it is refused or every slot has an owner with a place") {
  std::mt19937_64 random(TestSeed());
  const auto damage = [&](auto& self, Reply& reply) -> void {
    if (random() % 12 == 0) {
      switch (random() % 5) {
        case 0:
          reply = Nil();
          break;
        case 1:
          reply = Integer(static_cast<int64_t>(random() % 70'000) - 100);
          break;
        case 2:
          reply = Text(random() % 2 == 0 ? "" : "?");
          break;
        case 3:
          reply = Error("ERR");
          break;
        default:
          reply = Array({});
      }
    }
    if (reply.elements.size() > 1 && random() % 20 == 0) reply.elements.pop_back();
    for (Reply& element : reply.elements) self(self, element);
  };
  for (int i = 0; i < Sized(2000, 100'000); ++i) {
    Reply reply = WholeMap();
    damage(damage, reply);
    const auto map = SlotMap::Read(reply, kAsked);
    if (!map.ok()) continue;
    for (int slot = 0; slot < kSlots; slot += 61) {
      REQUIRE(map->OwnerOf(slot).port > 0);
      REQUIRE_FALSE(map->OwnerOf(slot).host.empty());
    }
  }
}

TEST_CASE("slot map: one slot can be given to a node that the map did not name") {
  auto map = SlotMap::Read(WholeMap(), kAsked);
  REQUIRE(map.ok());
  const SlotMap before = *map;
  const Node added = {"10.0.0.4", 7004};
  CHECK(map->Assign(5001, added));
  CHECK(map->OwnerOf(5001) == added);
  const SlotSet changed = SlotMap::Difference(before, *map);
  CHECK(changed.count() == 1);
  CHECK(changed[5001]);
  // 10.0.0.2 has lost its only slot.
  CHECK(map->Owners() ==
        std::vector<Node>{{"10.0.0.1", 7001}, {"10.0.0.3", 7003}, {"10.0.0.4", 7004}});
}

TEST_CASE("slot map: nodes without end are not taken in one by one either") {
  auto map = SlotMap::Read(WholeMap(), kAsked);
  REQUIRE(map.ok());
  int taken = 0;
  for (uint16_t port = 1; port < 2000; ++port) taken += map->Assign(port, {"h", port}) ? 1 : 0;
  CHECK(taken == static_cast<int>(SlotMap::kOwnersMax) - 3);
  CHECK(map->OwnerOf(1999) == Node{"10.0.0.1", 7001});
}

TEST_CASE("redirect: it says whom to ask, now or from now on") {
  const Redirect moved = ReadRedirect(Error("MOVED 3999 127.0.0.1:6381"), kAsked);
  CHECK(moved.kind == Kind::kMoved);
  CHECK(moved.slot == 3999);
  CHECK(moved.node == Node{"127.0.0.1", 6381});
  const Redirect ask = ReadRedirect(Error("ASK 0 redis-3.example:65535"), kAsked);
  CHECK(ask.kind == Kind::kAsk);
  CHECK(ask.slot == 0);
  CHECK(ask.node == Node{"redis-3.example", 65535});
}

TEST_CASE("redirect: without a host it leads to the host that sent it, and IPv6 has colons") {
  CHECK(ReadRedirect(Error("MOVED 1 :6380"), kAsked).node == Node{"10.0.0.9", 6380});
  CHECK(ReadRedirect(Error("ASK 1 ::1:6380"), kAsked).node == Node{"::1", 6380});
  CHECK(ReadRedirect(Error("MOVED 1 2001:db8::7:6380"), kAsked).node == Node{"2001:db8::7", 6380});
  CHECK(ReadRedirect(Error("MOVED 1 [::1]:6380"), kAsked).node == Node{"::1", 6380});
}

TEST_CASE("redirect: other words of a cluster are known, and answers are none") {
  CHECK(
      ReadRedirect(Error("TRYAGAIN Multiple keys request during rehashing of slot"), kAsked).kind ==
      Kind::kTryAgain);
  CHECK(ReadRedirect(Error("CLUSTERDOWN Hash slot not served"), kAsked).kind == Kind::kClusterDown);
  for (const Reply& answer : {Text("MOVED 1 h:1"), Status("OK"), Integer(1), Nil(), Array({}),
                              Error("ERR unknown"), Error("MOVEDX 1 h:1"), Error("ASKING 1 h:1")}) {
    CHECK(ReadRedirect(answer, kAsked).kind == Kind::kNone);
  }
}

TEST_CASE("redirect: one that leads nowhere is told from an answer and from one that leads on") {
  for (const char* text :
       {"MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:0",
        "MOVED 1 h:65536", "MOVED 1 h:-1", "MOVED 1 h:+1", "MOVED 16384 h:1", "MOVED -1 h:1",
        "MOVED x h:1", "MOVED 1 ?:6380", "MOVED 1 h:1 more", "MOVED  1 h:1", "ASK 1 h:99999999999",
        "ASK 99999999999 h:1"}) {
    CAPTURE(text);
    CHECK(ReadRedirect(Error(text), kAsked).kind == Kind::kUnreadable);
  }
  CHECK(ReadRedirect(Error("MOVED 1 " + std::string(300, 'h') + ":1"), kAsked).kind ==
        Kind::kUnreadable);
}

}  // namespace
}  // namespace counter::redis::testing
