#include "cache/redis/greeting.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cache/redis/scripts.h"

namespace counter::redis {
namespace {

// A key that no item has: names of types begin with a letter.
constexpr char kProbedKey[] = "counter:0:write_probe";

bool SendsPassword(const Login& login) { return !login.password.empty(); }
bool SendsDatabase(const Login& login) { return login.database != 0; }

absl::Status Refuse(absl::string_view step, const Reply& reply) {
  // The first word is Redis's code of the error; the rest could repeat what we have sent.
  const std::vector<absl::string_view> words = absl::StrSplit(reply.text, ' ');
  return absl::UnavailableError(absl::StrCat("the cache cannot be used: ", step, " was answered ",
                                             reply.is_error() ? words[0] : "unexpectedly"));
}

std::string FieldOf(absl::string_view info, absl::string_view field) {
  for (absl::string_view line : absl::StrSplit(info, '\n')) {
    if (absl::ConsumePrefix(&line, field)) return std::string(absl::StripAsciiWhitespace(line));
  }
  return "";
}

// The process, and the history of its data: a master that was a replica meanwhile is the same
// process with another history.
std::string RunIdOf(absl::string_view info) {
  const std::string run_id = FieldOf(info, "run_id:");
  if (run_id.empty()) return "";
  return absl::StrCat(run_id, "/", FieldOf(info, "master_replid:"));
}

}  // namespace

Commands WriteProbe() {
  Commands commands;
  commands.Add({"DEL", kProbedKey});
  return commands;
}

Commands GreetingCommands(const Login& login) {
  Commands commands;
  if (SendsPassword(login)) {
    if (login.user.empty())
      commands.Add({"AUTH", login.password});
    else
      commands.Add({"AUTH", login.user, login.password});
  }
  if (SendsDatabase(login)) commands.Add({"SELECT", absl::StrCat(login.database)});
  commands.Add({"DEL", kProbedKey});
  for (const Script* script : AllScripts()) commands.Add({"SCRIPT", "LOAD", script->text()});
  commands.Add({"INFO", "server", "replication"});
  return commands;
}

absl::StatusOr<Greeting> ReadGreeting(const Login& login, const std::vector<Reply>& replies) {
  const std::vector<const Script*> scripts = AllScripts();
  const size_t expected =
      (SendsPassword(login) ? 1 : 0) + (SendsDatabase(login) ? 1 : 0) + 1 + scripts.size() + 1;
  if (replies.size() != expected) return absl::InternalError("the greeting was not answered whole");
  auto reply = replies.begin();
  if (SendsPassword(login) && !reply->is_status("OK")) return Refuse("AUTH", *reply);
  if (SendsPassword(login)) ++reply;
  if (SendsDatabase(login) && !reply->is_status("OK")) return Refuse("SELECT", *reply);
  if (SendsDatabase(login)) ++reply;
  if (!reply->is_integer()) return Refuse("a write", *reply);
  ++reply;
  for (const Script* script : scripts) {
    if (!reply->is_text() || reply->text != script->digest()) return Refuse("SCRIPT LOAD", *reply);
    ++reply;
  }
  // INFO may be forbidden to our user: then every reconnect counts as to a new run.
  return Greeting{reply->is_text() ? RunIdOf(reply->text) : ""};
}

bool SaysUnusable(const Reply& reply) {
  if (!reply.is_error()) return false;
  for (const absl::string_view code :
       {"READONLY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "NOAUTH", "NOPERM"}) {
    if (reply.is_error(code)) return true;
  }
  return false;
}

}  // namespace counter::redis
