#include "server/callers/caller_table.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter {
namespace {

const std::vector<std::string>& Methods() {
  static const auto* const methods =
      new std::vector<std::string>{"a.Likes/Like", "a.Likes/Count", "b.Admin/Erase"};
  return *methods;
}

CallerTable Parse(const std::string& text) {
  auto table = CallerTable::Parse(text, Methods());
  INFO(table.status().ToString());
  REQUIRE(table.ok());
  return *std::move(table);
}

std::string FaultOf(const std::string& text) {
  return std::string(CallerTable::Parse(text, Methods()).status().message());
}

TEST_CASE("What is not allowed is denied, to callers and to strangers") {
  const CallerTable table = Parse(
      "# who may what\n"
      "allow a.Likes/Like feed\n"
      "caller feed\n"
      "caller ops   # may nothing\n");
  CHECK(table.Allows("a.Likes/Like", *table.Find("feed")));
  CHECK_FALSE(table.Allows("a.Likes/Count", *table.Find("feed")));
  CHECK_FALSE(table.Allows("a.Likes/Like", *table.Find("ops")));
  CHECK_FALSE(table.AllowsAnyone("a.Likes/Like"));
  CHECK_FALSE(table.Allows("no.Such/Method", *table.Find("feed")));
  CHECK(table.Find("nobody") == nullptr);
  CHECK(table.Find("anyone") == nullptr);
}

TEST_CASE("An empty table denies everything") {
  const CallerTable table = Parse("");
  for (const std::string& method : Methods()) CHECK_FALSE(table.AllowsAnyone(method));
}

TEST_CASE("A service's star means its methods and no other's") {
  const CallerTable table = Parse("caller feed\nallow a.Likes/* feed\n");
  CHECK(table.Allows("a.Likes/Like", *table.Find("feed")));
  CHECK(table.Allows("a.Likes/Count", *table.Find("feed")));
  CHECK_FALSE(table.Allows("b.Admin/Erase", *table.Find("feed")));
}

TEST_CASE("Any caller is every caller of the table; anyone is strangers, too") {
  const CallerTable table =
      Parse("caller feed\ncaller ops\nallow a.Likes/Like any-caller\nallow a.Likes/Count anyone\n");
  CHECK(table.Allows("a.Likes/Like", *table.Find("ops")));
  CHECK_FALSE(table.AllowsAnyone("a.Likes/Like"));
  CHECK(table.AllowsAnyone("a.Likes/Count"));
  CHECK(table.Allows("a.Likes/Count", *table.Find("feed")));
}

TEST_CASE("A caller is known by any name of its certificate") {
  const CallerTable table = Parse("caller feed san spiffe://x/feed san feed.internal\ncaller b\n");
  CHECK(table.FindByPeer({"other", "feed.internal"})->name == "feed");
  CHECK(table.FindByPeer({"spiffe://x/feed"})->name == "feed");
  CHECK(table.FindByPeer({"spiffe://x/feed2", "feed", "b"}) == nullptr);
  CHECK(table.FindByPeer({}) == nullptr);
}

TEST_CASE("A caller has the users, the calls and the watches that its line says") {
  const CallerTable table = Parse("caller kiosk users 10-20 calls 5 watches 7\ncaller feed\n");
  const Caller& kiosk = *table.Find("kiosk");
  CHECK(kiosk.calls_max == 5);
  CHECK(kiosk.watches_max == 7);
  for (const int64_t inside : {10, 15, 20}) CHECK(kiosk.users.Holds(inside));
  for (const int64_t outside : {-15, 0, 9, 21}) CHECK_FALSE(kiosk.users.Holds(outside));
  CHECK_FALSE(kiosk.users.IsAll());
  CHECK(table.Find("feed")->users.IsAll());
  CHECK(table.Find("feed")->users.Holds(-1));
}

TEST_CASE("A table that is read anew goes on with the calls of the former one") {
  const CallerTable before = Parse("caller feed\n");
  before.Find("feed")->load->calls_in_flight = 3;
  before.anyone()->load->watches = 2;
  CallerTable after = Parse("caller feed calls 9\ncaller ops\n");
  after.AdoptLoad(before);
  CHECK(after.Find("feed")->load->calls_in_flight == 3);
  CHECK(after.anyone()->load->watches == 2);
  CHECK(after.Find("ops")->load->calls_in_flight == 0);
}

TEST_CASE("Every line that is wrong is named by its number, all at once") {
  const std::string fault = FaultOf(
      "caller feed\n"
      "caller feed\n"                       // 2: twice.
      "caller anyone\n"                     // 3: reserved.
      "caller -x\n"                         // 4: no name.
      "caller kiosk users 20-10\n"          // 5
      "caller app users 0-9\n"              // 6
      "caller b calls 0\n"                  // 7
      "caller c san\n"                      // 8
      "caller d color red\n"                // 9
      "allow a.Likes/Lik feed\n"            // 10: no such method.
      "allow a.Likes/Like feet\n"           // 11: no such caller.
      "allow a.Likes/Like\n"                // 12
      "permit a.Likes/Like feed\n"          // 13
      "caller e san x\ncaller f san x\n");  // 15: taken.
  for (const int line : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15}) {
    CAPTURE(line, fault);
    CHECK(absl::StrContains(fault, absl::StrCat("CALLERS_FILE line ", line, ": ")));
  }
  CHECK_FALSE(absl::StrContains(fault, "line 1:"));
  CHECK_FALSE(absl::StrContains(fault, "line 14:"));
}

TEST_CASE("A star without its service, and a service without a star, mean nothing") {
  for (const char* pattern : {"*", "/*", "a.Likes", "a.Lik*", "a.Likes/", "**", "a.Likes/L*"}) {
    CAPTURE(pattern);
    CHECK(FaultOf(absl::StrCat("caller feed\nallow ", pattern, " feed\n")) != "");
  }
}

TEST_CASE("A fault shows what was written without control characters, and not all of it") {
  const std::string fault = FaultOf("allow " + std::string(5000, 'x') + "\x1b[2J feed\n");
  CHECK(fault.size() < 1000);
  CHECK_FALSE(absl::StrContains(fault, "\x1b"));
}

}  // namespace
}  // namespace counter
