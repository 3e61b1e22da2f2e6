#include "server/callers/caller_tokens.h"

#include <catch2/catch.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace counter {
namespace {

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";
// printf %s 0123456789abcdef0123456789abcdef | sha256sum
constexpr char kTokenHash[] = "3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9";

CallerTokens Parse(const std::string& text) {
  auto tokens = CallerTokens::Parse(text);
  INFO(tokens.status().ToString());
  REQUIRE(tokens.ok());
  return *std::move(tokens);
}

std::string FaultOf(const std::string& text) {
  return std::string(CallerTokens::Parse(text).status().message());
}

TEST_CASE("A token is its caller's, written as it is or as its hash") {
  for (const std::string& line :
       {absl::StrCat("feed ", kToken), absl::StrCat("feed sha256:", kTokenHash)}) {
    CAPTURE(line);
    const CallerTokens tokens = Parse("# tokens\n\n  " + line + "   # of the feed\r\n");
    CHECK(tokens.Find(kToken) == "feed");
    CHECK(tokens.Find("").empty());
    CHECK(tokens.Find(std::string(kToken) + "0").empty());
    CHECK(tokens.Find(kTokenHash).empty());
    CHECK(tokens.Find(absl::StrCat("sha256:", kTokenHash)).empty());
    CHECK(tokens.Find(std::string(5000, 'x')).empty());
  }
}

TEST_CASE("A caller may have several tokens while one replaces the other") {
  const std::string other(40, 'z');
  const CallerTokens tokens =
      Parse(absl::StrCat("feed ", kToken, "\nfeed ", other, "\nops ", std::string(40, 'y'), "\n"));
  CHECK(tokens.Find(kToken) == "feed");
  CHECK(tokens.Find(other) == "feed");
  CHECK(tokens.Find(std::string(40, 'y')) == "ops");
}

TEST_CASE("Nobody has a token where there is none") { CHECK(Parse("").Find("").empty()); }

TEST_CASE("A wrong line is named by its number, and no word of it is shown") {
  const std::string secret = "hunter2hunter2";
  const std::string fault = FaultOf(absl::StrCat(
      "feed ", kToken, "\n",                                // 1
      "feed ", secret, "\n",                                // 2: too short.
      secret, kToken, "\n",                                 // 3: no name.
      "feed ", secret, " ", kToken, "\n",                   // 4: three words.
      "feed sha256:", secret, "\n",                         // 5: no hash.
      "feed ", kToken, "\n",                                // 6: there already.
      "feed ", secret, std::string(5000, 'x'), "\n",        // 7: too long.
      "feed ", secret, "\x01", std::string(40, 'x'), "\n",  // 8: no header could hold it.
      "@", secret, " ", kToken, "\n"));                     // 9: no name.
  for (const int line : {2, 3, 4, 5, 6, 7, 8, 9}) {
    CAPTURE(line, fault);
    CHECK(absl::StrContains(fault, absl::StrCat("CALLER_TOKENS_FILE line ", line, ": ")));
  }
  CHECK_FALSE(absl::StrContains(fault, "line 1:"));
  CHECK_FALSE(absl::StrContains(fault, secret));
  CHECK_FALSE(absl::StrContains(fault, kToken));
}

}  // namespace
}  // namespace counter
