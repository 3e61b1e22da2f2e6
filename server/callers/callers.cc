#include "server/callers/callers.h"

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "server/callers/caller_lines.h"

namespace counter {
namespace {

absl::Status Refusal(ErrorReason reason, absl::string_view message) {
  absl::Status error = MakeError(reason, message);
  MarkNotApplied(error);
  return error;
}

absl::Status Unauthenticated(absl::string_view message) {
  return Refusal(ErrorReason::kUnauthenticated, message);
}

// The token of "Bearer TOKEN"; empty if it is something else.
absl::string_view BearerToken(absl::string_view authorization) {
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return "";
  return absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
}

std::vector<std::string> PathsOf(const Callers::Options& options) {
  std::vector<std::string> paths = {options.table_file};
  if (!options.tokens_file.empty()) paths.push_back(options.tokens_file);
  return paths;
}

}  // namespace

Callers::Callers(Options options)
    : methods_(options.methods), has_peer_names_(options.has_peer_names) {
  if (options.table_file.empty()) return;
  files_.emplace("callers", PathsOf(options),
                 [this](const std::vector<std::string>& texts) { return Parse(texts); });
}

absl::StatusOr<Callers::Files> Callers::Parse(const std::vector<std::string>& texts) {
  absl::StatusOr<CallerTable> table = CallerTable::Parse(texts[0], methods_);
  if (!table.ok()) return table.status();
  absl::StatusOr<CallerTokens> tokens = CallerTokens::Parse(texts.size() > 1 ? texts[1] : "");
  if (!tokens.ok()) return tokens.status();
  CallerFaults faults("CALLER_TOKENS_FILE");
  for (const CallerTokens::Line& line : tokens->lines()) {
    if (table->Find(line.name) != nullptr) continue;
    faults.Add(line.number, absl::StrCat("CALLERS_FILE has no caller ", ShowWord(line.name)));
  }
  if (absl::Status verdict = faults.Verdict(); !verdict.ok()) return verdict;
  if (before_.has_value()) table->AdoptLoad(*before_);
  before_ = *table;
  return Files{*std::move(table), *std::move(tokens)};
}

std::vector<std::string> Callers::PeerNamesOf(const Credentials& credentials) const {
  if (!has_peer_names_ || credentials.peer_names == nullptr) return {};
  return credentials.peer_names();
}

absl::StatusOr<CallerRef> Callers::Admit(absl::string_view method,
                                         const Credentials& credentials) const {
  absl::ConsumePrefix(&method, "/");
  if (!files_.has_value()) {
    const std::vector<std::string> names = PeerNamesOf(credentials);
    if (names.empty()) return UnknownCaller();
    auto caller = std::make_shared<Caller>();
    caller->name = names.front();
    return CallerRef(std::move(caller));
  }

  const std::shared_ptr<const Files> files = files_->current();
  CallerRef caller;
  bool showed_certificate = false;
  if (credentials.authorization.has_value()) {
    const absl::string_view token = BearerToken(*credentials.authorization);
    if (token.empty()) return Unauthenticated("expected `authorization: Bearer TOKEN`");
    caller = files->table.Find(files->tokens.Find(token));
    if (caller == nullptr) return Unauthenticated("the bearer token is not one of a caller");
  } else {
    const std::vector<std::string> names = PeerNamesOf(credentials);
    showed_certificate = !names.empty();
    caller = files->table.FindByPeer(names);
  }
  if (caller == nullptr) {
    if (files->table.AllowsAnyone(method)) return files->table.anyone();
    if (showed_certificate) {
      return Refusal(ErrorReason::kCallerNotAllowed,
                     "the names of the certificate are those of no caller of this service");
    }
    return Unauthenticated(
        "this method wants to know who calls: send `authorization: Bearer TOKEN`, or show a "
        "certificate");
  }
  if (!files->table.Allows(method, *caller)) {
    return Refusal(ErrorReason::kCallerNotAllowed,
                   absl::StrCat("the caller ", caller->name, " may not call this method"));
  }
  return caller;
}

std::vector<Callers::UnderWay> Callers::AllUnderWay() const {
  std::vector<UnderWay> all;
  if (!files_.has_value()) return all;
  const std::shared_ptr<const Files> files = files_->current();
  const auto add = [&all](const std::string& name, const CallerLoad& load) {
    all.push_back({name, load.calls_in_flight.load(std::memory_order_relaxed),
                   load.watches.load(std::memory_order_relaxed)});
  };
  for (const CallerRef& caller : files->table.callers()) add(caller->name, *caller->load);
  add(kAnyoneName, *files->table.anyone()->load);
  return all;
}

absl::Status CheckUser(const Caller& caller, int64_t user_id) {
  if (caller.users.Holds(user_id)) return absl::OkStatus();
  return Refusal(ErrorReason::kUserNotAllowed,
                 absl::StrCat("the caller ", caller.name, " may not act for user_id ", user_id));
}

absl::Status CheckAllUsers(const Caller& caller) {
  if (caller.users.IsAll()) return absl::OkStatus();
  return Refusal(ErrorReason::kUserNotAllowed,
                 absl::StrCat("the caller ", caller.name,
                              " may act for some users only, and this would tell of others"));
}

}  // namespace counter
