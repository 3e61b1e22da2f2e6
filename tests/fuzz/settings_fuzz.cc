// What an operator writes: a password never shows in a redacted URL, a token never in a fault of
// its file, and no text of a table of callers, a file of settings or a URL ends the process.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cache/redis/redis_url.h"
#include "server/callers/caller_table.h"
#include "server/callers/caller_tokens.h"
#include "server/config/config_file.h"
#include "server/config/service_url.h"
#include "tests/fuzz/require.h"

namespace counter {
namespace {

using fuzz::Require;

// Letters that stand nowhere else, so that it is found wherever it gets to.
constexpr char kSecret[] = "QZXQ";

bool Shows(const std::string& text) { return text.find(kSecret) != std::string::npos; }

void CheckUrl(FuzzedDataProvider& data) {
  const std::string user = data.ConsumeRandomLengthString(12);
  const std::string before = data.ConsumeRandomLengthString(12);
  const std::string after = data.ConsumeRandomLengthString(12);
  const char* scheme = data.PickValueInArray({"postgresql", "postgres", "redis", "rediss"});
  const std::string rest = data.ConsumeRemainingBytesAsString();
  if (Shows(user) || Shows(before) || Shows(after) || Shows(rest)) return;
  // A '/', '?' or '#' in it would end the authority: it is then no password, by the rules of URLs.
  const std::string password = absl::StrCat(before, kSecret, after);
  if (password.find_first_of("/?#") != std::string::npos ||
      user.find_first_of("/?#:") != std::string::npos) {
    return;
  }
  const std::string url = absl::StrCat(scheme, "://", user, ":", password, "@", rest);
  Require(!Shows(RedactUrl(url)));
  Require(!Shows(RedactUrls(url)));
  Require(!Shows(RedactUrls(absl::StrCat("redis://h, ", url))));
  ServiceUrl parsed;
  const auto problem = ParseServiceUrl(url, {"postgresql", "postgres", "redis", "rediss"}, parsed);
  Require(!problem.has_value() || !Shows(*problem));
  const auto address = redis::ParseRedisUrl(url);
  Require(address.ok() || !Shows(std::string(address.status().message())));
}

// A secret in the query, which is where drivers of PostgreSQL take some.
void CheckQuery(FuzzedDataProvider& data) {
  const char* name = data.PickValueInArray(
      {"password", "sslpassword", "PassWord", "auth_token", "client_secret", "%70assword"});
  const std::string before = data.ConsumeRandomLengthString(12);
  const std::string value = data.ConsumeRandomLengthString(8);
  const std::string rest = data.ConsumeRemainingBytesAsString();
  if (Shows(before) || Shows(rest)) return;
  // They end the value, or the query.
  if (value.find_first_of("&#") != std::string::npos || before.find('#') != std::string::npos) {
    return;
  }
  const std::string url =
      absl::StrCat("postgresql://host/name?", before, "&", name, "=", value, kSecret, rest);
  Require(!Shows(RedactUrl(url)) || rest.find_first_of("&#") != std::string::npos);
  // In a list a comma or a blank may end the URL, and what follows is another one.
  if (absl::StrCat(before, value).find_first_of(", ") != std::string::npos) return;
  Require(!Shows(RedactUrls(absl::StrCat("postgresql://a/b,", url))) ||
          rest.find_first_of("&#, ") != std::string::npos);
}

void CheckCallers(FuzzedDataProvider& data) {
  const std::string text = data.ConsumeRandomLengthString(400);
  const auto table = CallerTable::Parse(text, {"a.B/C", "a.B/D"});
  if (table.ok()) {
    for (const CallerRef& caller : table->callers()) {
      Require(table->Find(caller->name) == caller && caller->users.first <= caller->users.last);
    }
    Require(!table->Allows("a.B/E", *UnknownCaller()) && !table->AllowsAnyone("a.B/E"));
  }
  const std::string line = absl::StrCat(data.ConsumeRandomLengthString(40), kSecret,
                                        data.ConsumeRemainingBytesAsString());
  const auto tokens = CallerTokens::Parse(line);
  if (tokens.ok()) {
    Require(tokens->Find("").empty() && tokens->Find(kSecret).empty());
  } else {
    Require(!Shows(std::string(tokens.status().message())));
  }
}

void CheckFile(FuzzedDataProvider& data) {
  const ParsedConfigFile parsed = ParseConfigFile(data.ConsumeRemainingBytesAsString());
  for (const FileSetting& setting : parsed.settings) {
    Require(!setting.name.empty() && setting.line >= 1);
    Require(setting.value.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace counter

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  FuzzedDataProvider data(bytes, size);
  switch (data.ConsumeIntegralInRange(0, 3)) {
    case 0:
      counter::CheckUrl(data);
      break;
    case 1:
      counter::CheckCallers(data);
      break;
    case 2:
      counter::CheckQuery(data);
      break;
    default:
      counter::CheckFile(data);
  }
  return 0;
}
