// The way of a request through a cluster, with scripted answers; and when the map is asked for.
#include "cache/redis/routed_request.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "cache/redis/refresh_schedule.h"
#include "tests/cache/redis/scripted_channel.h"

namespace counter::redis::testing {
namespace {

using Leg = RoutedRequest::Leg;
using News = RoutedRequest::News;

const Node kLow = {"low", 1};    // Owns 0 to 8191,
const Node kHigh = {"high", 2};  // and this one the rest.
const Node kThird = {"third", 3};

SlotMap TwoNodes() {
  const auto node = [](const Node& node) { return Array({Text(node.host), Integer(node.port)}); };
  auto map = SlotMap::Read(Array({Array({Integer(0), Integer(8191), node(kLow)}),
                                  Array({Integer(8192), Integer(16383), node(kHigh)})}),
                           kLow);
  REQUIRE(map.ok());
  return *map;
}

// GET 0, GET 1 and so on, of these slots.
Commands Gets(const std::vector<int>& slots) {
  Commands commands;
  for (size_t i = 0; i < slots.size(); ++i) commands.Add({"GET", absl::StrCat(i)}, slots[i]);
  return commands;
}

std::string Moved(int slot, const Node& to) {
  return absl::StrCat("MOVED ", slot, " ", to.host, ":", to.port);
}
std::string AskAt(int slot, const Node& to) {
  return absl::StrCat("ASK ", slot, " ", to.host, ":", to.port);
}

TEST_CASE("routed request: each node gets the commands of its slots, all at once and in order") {
  RoutedRequest request(Gets({9000, 5, 16383, 5, 8192}));
  const std::vector<Leg> legs = request.Begin(TwoNodes());
  REQUIRE(legs.size() == 2);
  CHECK(legs[0].node == kHigh);
  CHECK(legs[1].node == kLow);
  const std::vector<std::vector<std::string>> high = {{"GET", "0"}, {"GET", "2"}, {"GET", "4"}};
  const std::vector<std::vector<std::string>> low = {{"GET", "1"}, {"GET", "3"}};
  CHECK(Words(request.CommandsOf(legs[0]).bytes()) == high);
  CHECK(Words(request.CommandsOf(legs[1]).bytes()) == low);
  CHECK(request.CommandsOf(legs[0]).count() == 3);

  const News news = request.OnAnswer(legs[1], std::vector{Text("one"), Text("three")});
  CHECK(news.next.empty());
  CHECK_FALSE(news.doubts_map);
  CHECK_FALSE(request.is_over());
  request.OnAnswer(legs[0], std::vector{Text("zero"), Text("two"), Error("WRONGTYPE")});
  REQUIRE(request.is_over());
  CHECK(request.TakeAnswer() ==
        std::vector{Text("zero"), Text("one"), Text("two"), Text("three"), Error("WRONGTYPE")});
}

TEST_CASE("routed request: a node that does not answer costs its own commands and no others") {
  RoutedRequest request(Gets({5, 9000}));
  const std::vector<Leg> legs = request.Begin(TwoNodes());
  CHECK(request.OnAnswer(legs[0], std::nullopt).doubts_map);
  request.OnAnswer(legs[1], std::vector{Text("here")});
  REQUIRE(request.is_over());
  CHECK(request.TakeAnswer() == std::vector{Unanswered(), Text("here")});
}

TEST_CASE("routed request: without any answer there is none") {
  RoutedRequest request(Gets({5, 9000}));
  for (const Leg& leg : request.Begin(TwoNodes())) request.OnAnswer(leg, std::nullopt);
  REQUIRE(request.is_over());
  CHECK_FALSE(request.TakeAnswer().has_value());
}

TEST_CASE("routed request: MOVED is followed, and says who owns the slot from now on") {
  RoutedRequest request(Gets({5, 6, 5, 7}));
  const std::vector<Leg> legs = request.Begin(TwoNodes());
  const News news =
      request.OnAnswer(legs[0], std::vector{Error(Moved(5, kHigh)), Text("six"),
                                            Error(Moved(5, kHigh)), Error(Moved(7, kThird))});
  CHECK(news.doubts_map);
  CHECK(news.moved_commands == 3);
  CHECK(news.moved == std::vector<std::pair<int, Node>>{{5, kHigh}, {7, kThird}});
  REQUIRE(news.next.size() == 2);
  CHECK(news.next[0].node == kHigh);
  CHECK_FALSE(news.next[0].asking);
  const std::vector<std::vector<std::string>> again = {{"GET", "0"}, {"GET", "2"}};
  CHECK(Words(request.CommandsOf(news.next[0]).bytes()) == again);
  request.OnAnswer(news.next[0], std::vector{Text("zero"), Text("two")});
  request.OnAnswer(news.next[1], std::vector{Text("three")});
  REQUIRE(request.is_over());
  CHECK(request.TakeAnswer() == std::vector{Text("zero"), Text("six"), Text("two"), Text("three")});
}

TEST_CASE("routed request: ASK is followed once, with ASKING before each command, and is no news") {
  RoutedRequest request(Gets({5, 5}));
  const std::vector<Leg> legs = request.Begin(TwoNodes());
  const News news =
      request.OnAnswer(legs[0], std::vector{Error(AskAt(5, kHigh)), Error(AskAt(5, kHigh))});
  CHECK(news.moved.empty());
  CHECK_FALSE(news.doubts_map);
  CHECK(news.asked == 2);
  REQUIRE(news.next.size() == 1);
  CHECK(news.next[0].asking);
  const Commands commands = request.CommandsOf(news.next[0]);
  const std::vector<std::vector<std::string>> words = {
      {"ASKING"}, {"GET", "0"}, {"ASKING"}, {"GET", "1"}};
  CHECK(Words(commands.bytes()) == words);
  CHECK(commands.count() == 4);
  request.OnAnswer(news.next[0],
                   std::vector{Status("OK"), Text("zero"), Error("ERR asking"), Text("one")});
  REQUIRE(request.is_over());
  CHECK(request.TakeAnswer() == std::vector{Text("zero"), Text("one")});
}

TEST_CASE(
    "routed request: keys on their way are asked for again, after a pause, at the same place") {
  RoutedRequest request(Gets({5}));
  Leg leg = request.Begin(TwoNodes())[0];
  News news = request.OnAnswer(leg, std::vector{Error(AskAt(5, kHigh))});
  news = request.OnAnswer(news.next[0], std::vector{Status("OK"), Error("TRYAGAIN Multiple keys")});
  CHECK(news.next.empty());
  CHECK_FALSE(news.doubts_map);
  REQUIRE(news.next_after_pause.size() == 1);
  CHECK(news.next_after_pause[0].node == kHigh);
  CHECK(news.next_after_pause[0].asking);
  CHECK_FALSE(request.is_over());
}

TEST_CASE("routed request: a command is sent five times at most, whatever the nodes say") {
  const std::string word = GENERATE(Moved(5, kThird), AskAt(5, kThird), std::string("TRYAGAIN x"));
  RoutedRequest request(Gets({5}));
  std::vector<Leg> legs = request.Begin(TwoNodes());
  int sends = 0;
  int64_t given_up = 0;
  while (!legs.empty() && sends < 100) {
    ++sends;
    std::vector<Reply> answer(legs[0].asking ? 2 : 1, Error(word));
    News news = request.OnAnswer(legs[0], std::move(answer));
    given_up += news.given_up;
    legs = news.next.empty() ? news.next_after_pause : news.next;
  }
  CHECK(sends == RoutedRequest::kSendsMax);
  CHECK(given_up == 1);
  REQUIRE(request.is_over());
  CHECK_FALSE(request.TakeAnswer().has_value());
}

TEST_CASE("routed request: what cannot be followed is unanswered, and makes the map doubtful") {
  RoutedRequest request(Gets({5, 6, 7, 8}));
  const Leg leg = request.Begin(TwoNodes())[0];
  const News news = request.OnAnswer(
      leg, std::vector{Error("CLUSTERDOWN The cluster is down"), Error("MOVED 6 ?:1"),
                       Error(Moved(99, kThird)), Text("eight")});  // Nobody asked about slot 99.
  CHECK(news.doubts_map);
  CHECK(news.next.empty());
  CHECK(news.moved.empty());
  CHECK(news.down == 1);
  CHECK(news.given_up == 2);
  REQUIRE(request.is_over());
  CHECK(request.TakeAnswer() ==
        std::vector{Unanswered(), Unanswered(), Unanswered(), Text("eight")});
}

TEST_CASE("routed request: an answer of another length answers nothing") {
  RoutedRequest request(Gets({5, 6}));
  const Leg leg = request.Begin(TwoNodes())[0];
  request.OnAnswer(leg, std::vector{Text("one")});
  REQUIRE(request.is_over());
  CHECK_FALSE(request.TakeAnswer().has_value());
}

TEST_CASE("refresh schedule: however many ask, one question is under way and one a second begins") {
  const MonotonicTime start = MonotonicTime(std::chrono::hours(1));
  RefreshSchedule schedule(absl::Seconds(1), absl::Seconds(10));
  CHECK(schedule.due_at() == MonotonicTime::max());
  schedule.Want();
  CHECK(schedule.due_at() <= start);
  int begun = 0;
  bool is_under_way = false;
  for (int64_t ms = 0; ms < 20'000; ++ms) {
    const MonotonicTime now = start + absl::Milliseconds(ms);
    schedule.Want();
    if (now >= schedule.due_at()) {
      REQUIRE_FALSE(is_under_way);
      schedule.OnBegin(now);
      is_under_way = true;
      ++begun;
    } else if (is_under_way && ms % 7 == 0) {
      schedule.OnEnd();
      is_under_way = false;
    }
  }
  CHECK(begun == 20);
}

TEST_CASE("refresh schedule: without a reason the map is asked for once a period") {
  const MonotonicTime start = MonotonicTime(std::chrono::hours(1));
  RefreshSchedule schedule(absl::Seconds(1), absl::Seconds(10));
  schedule.Want();
  schedule.OnBegin(start);
  CHECK(schedule.due_at() == MonotonicTime::max());
  schedule.OnEnd();
  CHECK(schedule.due_at() == start + absl::Seconds(10));
  schedule.Want();
  CHECK(schedule.due_at() == start + absl::Seconds(1));
}

}  // namespace
}  // namespace counter::redis::testing
