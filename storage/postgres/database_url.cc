#include "storage/postgres/database_url.h"

#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace counter::postgres {
namespace {

absl::StatusOr<bool> ParseSwitch(absl::string_view value) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return absl::InvalidArgumentError("pgbouncer must be true or false in the database's URL");
}

// Takes the words "pgbouncer=..." out of words and sets `pooled`.
absl::Status TakeSwitch(std::vector<std::string>& words, bool& pooled) {
  std::vector<std::string> rest;
  for (const std::string& word : words) {
    absl::string_view value = word;
    if (!absl::ConsumePrefix(&value, "pgbouncer=")) {
      rest.push_back(word);
      continue;
    }
    const absl::StatusOr<bool> parsed = ParseSwitch(value);
    if (!parsed.ok()) return parsed.status();
    pooled = *parsed;
  }
  words = rest;
  return absl::OkStatus();
}

absl::StatusOr<DatabaseUrl> ParseUri(absl::string_view scheme, absl::string_view rest) {
  const absl::string_view driverless = scheme.substr(0, scheme.find('+'));
  if (driverless != "postgresql" && driverless != "postgres")
    return absl::InvalidArgumentError(
        "the database's URL must begin with postgresql:// or be of the form host=... dbname=...");
  DatabaseUrl url;
  const size_t question = rest.find('?');
  url.conninfo = absl::StrCat("postgresql://", rest.substr(0, question));
  if (question == absl::string_view::npos) return url;
  std::vector<std::string> words = absl::StrSplit(rest.substr(question + 1), '&');
  const absl::Status taken = TakeSwitch(words, url.pooled);
  if (!taken.ok()) return taken;
  if (!words.empty()) absl::StrAppend(&url.conninfo, "?", absl::StrJoin(words, "&"));
  return url;
}

}  // namespace

absl::StatusOr<DatabaseUrl> ParseDatabaseUrl(absl::string_view url) {
  const size_t scheme_end = url.find("://");
  if (scheme_end != absl::string_view::npos && url.find('=') > scheme_end)
    return ParseUri(url.substr(0, scheme_end), url.substr(scheme_end + 3));
  if (!absl::StrContains(url, '='))
    return absl::InvalidArgumentError(
        "the database's URL must begin with postgresql:// or be of the form host=... dbname=...");
  DatabaseUrl parsed;
  // A quoted value with a blank in it may be split here; joined by the same blank it is whole
  // again.
  std::vector<std::string> words = absl::StrSplit(url, ' ');
  const absl::Status taken = TakeSwitch(words, parsed.pooled);
  if (!taken.ok()) return taken;
  parsed.conninfo = absl::StrJoin(words, " ");
  return parsed;
}

}  // namespace counter::postgres
