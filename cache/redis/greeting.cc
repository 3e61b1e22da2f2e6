#include "cache/redis/greeting.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cache/redis/scripts.h"

namespace counter::redis {
namespace {

// Names of types begin with a letter.
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

// What only a node of a cluster says to a write.
bool IsOfCluster(const Reply& write) {
  return write.is_error("MOVED") || write.is_error("ASK") || write.is_error("CLUSTERDOWN");
}

}  // namespace

std::string ProbedKey() { return kProbedKey; }

std::string ProbedKeyIn(const SlotSet& slots) {
  if (slots.none()) return "";
  // Some 16384 tries for a node that owns one slot only.
  for (int64_t n = 0;; ++n) {
    std::string key = absl::StrCat(kProbedKey, ":", n);
    if (slots[static_cast<size_t>(SlotOf(key))]) return key;
  }
}

Commands WriteProbe(absl::string_view key) {
  Commands commands;
  commands.Add({"DEL", key});
  return commands;
}

Commands GreetingCommands(const Login& login, absl::string_view probed_key) {
  Commands commands;
  if (SendsPassword(login)) {
    if (login.user.empty())
      commands.Add({"AUTH", login.password});
    else
      commands.Add({"AUTH", login.user, login.password});
  }
  if (SendsDatabase(login)) commands.Add({"SELECT", absl::StrCat(login.database)});
  commands.Add({"DEL", probed_key});
  for (const Script* script : AllScripts()) commands.Add({"SCRIPT", "LOAD", script->text()});
  commands.Add({"INFO", "server", "replication", "cluster"});
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
  Greeting greeting;
  greeting.is_of_cluster = IsOfCluster(*reply);
  if (!reply->is_integer() && !greeting.is_of_cluster) return Refuse("a write", *reply);
  ++reply;
  for (const Script* script : scripts) {
    if (!reply->is_text() || reply->text != script->digest()) return Refuse("SCRIPT LOAD", *reply);
    ++reply;
  }
  // INFO may be forbidden to our user: then every reconnect counts as to a new run, and a node of a
  // cluster is known by what it says to a write alone.
  if (!reply->is_text()) return greeting;
  greeting.run_id = RunIdOf(reply->text);
  int64_t seconds = 0;
  if (absl::SimpleAtoi(FieldOf(reply->text, "uptime_in_seconds:"), &seconds) && seconds >= 0)
    greeting.up_for = absl::Seconds(seconds + 1);
  if (FieldOf(reply->text, "cluster_enabled:") == "1") greeting.is_of_cluster = true;
  return greeting;
}

bool SaysUnusable(const Reply& reply) {
  if (!reply.is_error()) return false;
  for (const absl::string_view code :
       {"READONLY", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "NOAUTH", "NOPERM"}) {
    if (reply.is_error(code)) return true;
  }
  return false;
}

bool SaysNotOwner(const Reply& reply) {
  return reply.is_error("MOVED") || reply.is_error("CLUSTERDOWN");
}

}  // namespace counter::redis
