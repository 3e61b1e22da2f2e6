// The card's REST examples, replayed: the same status and the same body, as_of and took_ms aside.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tests/integration/fixture.h"
#include "tests/support/http_client.h"

namespace counter::testing {
namespace {

constexpr char kTranscript[] = "tests/integration/rest_transcript.txt";

struct Exchange {
  std::string method;
  std::string target;
  std::string body;
  int status = 0;
  std::string answer;
};

// Two lines each: "> METHOD TARGET BODY" and "< STATUS ANSWER".
std::vector<Exchange> ReadTranscript() {
  std::ifstream file(kTranscript);
  std::vector<Exchange> exchanges;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    CAPTURE(line);
    if (line[0] == '>') {
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
      REQUIRE(words.size() >= 3);
      exchanges.push_back({words[1], words[2], words.size() == 4 ? words[3] : "", 0, ""});
    } else {
      const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
      REQUIRE(words.size() == 3);
      REQUIRE(words[0] == "<");
      REQUIRE_FALSE(exchanges.empty());
      REQUIRE(absl::SimpleAtoi(words[1], &exchanges.back().status));
      exchanges.back().answer = words[2];
    }
  }
  return exchanges;
}

// Whether `text` is `pattern`, a '*' of which stands for any value that is no object; at the end of
// an error for the rest of it.
bool Matches(absl::string_view text, absl::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return text == pattern;
  if (!absl::StartsWith(text, pattern.substr(0, star))) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  if (!absl::EndsWith(text, rest) || text.size() < pattern.size()) return false;
  const absl::string_view any = text.substr(star, text.size() - star - rest.size());
  return absl::StartsWith(pattern, R"({"error":)") ||
         any.find_first_of(",{}") == absl::string_view::npos;
}

TEST_CASE("the card's REST examples have the card's answers, as the transcript has them") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const std::vector<Exchange> transcript = ReadTranscript();
  REQUIRE(transcript.size() >= 23);
  for (const Exchange& exchange : transcript) {
    const HttpClient::Answer answer = client.Call(exchange.method, exchange.target, exchange.body);
    CAPTURE(exchange.method, exchange.target, exchange.body, exchange.answer, answer.body);
    CHECK(answer.status == exchange.status);
    CHECK(answer.Header("content-type") == "application/json");
    CHECK(Matches(answer.body, exchange.answer));
  }
}

TEST_CASE("as_of is a time as RFC 3339 writes it") {
  auto server = StartServer();
  HttpClient client(server->http_port());
  const std::string body = client.Get("/v1/count?item_id=1").body;
  const size_t at = body.find("\"as_of\":\"");
  REQUIRE(at != std::string::npos);
  std::string text = body.substr(at + 9, body.size() - at - 11);
  absl::Time time;
  std::string error;
  CHECK(absl::ParseTime(absl::RFC3339_full, text, &time, &error));
  CHECK(absl::Now() - time < absl::Minutes(5));
}

}  // namespace
}  // namespace counter::testing
