#include "server/callers/caller_table.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/callers/caller_lines.h"

namespace counter {
namespace {

constexpr int kCallsMax = 1'000'000;

bool IsDigits(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// "1-999".
std::optional<UserRange> ParseUsers(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  UserRange users;
  const bool is_range = IsDigits(ends.first) && IsDigits(ends.second) &&
                        absl::SimpleAtoi(ends.first, &users.first) &&
                        absl::SimpleAtoi(ends.second, &users.last);
  if (!is_range || users.first < 1 || users.last < users.first) return std::nullopt;
  return users;
}

bool IsReserved(absl::string_view name) {
  return name == CallerTable::kAnyone || name == CallerTable::kAnyCaller;
}

// std::map of Debian's Abseil views: its comparisons want std's own.
std::string Key(absl::string_view text) { return std::string(text); }

}  // namespace

// Fills a table, line by line.
class CallerTableReader {
 public:
  CallerTableReader(CallerTable& table, const std::vector<std::string>& methods)
      : table_(table), methods_(methods) {}

  void Read(const CallerLine& line) {
    if (line.words[0] == "caller") {
      ReadCaller(line);
    } else if (line.words[0] == "allow") {
      ReadAllow(line);
    } else {
      faults_.Add(line.number,
                  absl::StrCat("expected `caller NAME ...` or `allow METHOD NAME ...`, "
                               "got ",
                               ShowWord(line.words[0])));
    }
  }

  absl::Status Verdict() {
    // Callers may stand below the lines that name them.
    for (const auto& [line, name] : named_) {
      if (table_.callers_.count(name) == 0) {
        faults_.Add(line, absl::StrCat("no caller is named ", ShowWord(name)));
      }
    }
    return faults_.Verdict();
  }

 private:
  void ReadCaller(const CallerLine& line) {
    const std::string name = line.words.size() > 1 ? line.words[1] : "";
    if (!IsCallerName(name) || IsReserved(name)) {
      return faults_.Add(line.number,
                         absl::StrCat("expected a name of 1 to 64 characters A-Z, a-z, 0-9, ., _ "
                                      "and - that begins with a letter or digit, got ",
                                      ShowWord(name)));
    }
    const auto [added, is_new] = table_.callers_.emplace(name, std::make_shared<Caller>());
    if (!is_new) {
      return faults_.Add(line.number, absl::StrCat("the caller ", name, " is there already"));
    }
    if (static_cast<int>(table_.callers_.size()) > CallerTable::kCallersMax) {
      return faults_.Add(line.number,
                         absl::StrCat("more than ", CallerTable::kCallersMax, " callers"));
    }
    Caller& caller = *added->second;
    caller.name = name;
    caller.load = std::make_shared<CallerLoad>();
    for (size_t i = 2; i < line.words.size(); i += 2) {
      const std::string value = i + 1 < line.words.size() ? line.words[i + 1] : "";
      ReadProperty(line.number, line.words[i], value, caller);
    }
  }

  void ReadProperty(int line, const std::string& name, const std::string& value, Caller& caller) {
    if (name == "san") {
      if (value.empty()) return faults_.Add(line, "san wants a name of a certificate");
      const bool is_new = table_.caller_of_peer_.emplace(value, caller.name).second;
      if (!is_new) faults_.Add(line, absl::StrCat("the san ", ShowWord(value), " is taken"));
    } else if (name == "users") {
      const std::optional<UserRange> users = ParseUsers(value);
      if (!users.has_value() || !caller.users.IsAll()) {
        return faults_.Add(line, absl::StrCat("users wants FIRST-LAST, once, with ids of users as "
                                              "1-999, got ",
                                              ShowWord(value)));
      }
      caller.users = *users;
    } else if (name == "calls" || name == "watches") {
      int most = 0;
      if (!IsDigits(value) || !absl::SimpleAtoi(value, &most) || most < 1 || most > kCallsMax) {
        return faults_.Add(line, absl::StrCat(name, " wants a number from 1 to ", kCallsMax,
                                              ", got ", ShowWord(value)));
      }
      (name == "calls" ? caller.calls_max : caller.watches_max) = most;
    } else {
      faults_.Add(line,
                  absl::StrCat("expected san, users, calls or watches, got ", ShowWord(name)));
    }
  }

  void ReadAllow(const CallerLine& line) {
    if (line.words.size() < 3) {
      return faults_.Add(line.number, "expected `allow METHOD NAME ...`");
    }
    const std::string& pattern = line.words[1];
    bool is_known = false;
    for (const std::string& method : methods_) {
      const bool is_meant =
          pattern == method || (absl::EndsWith(pattern, "/*") &&
                                absl::StartsWith(method, absl::StripSuffix(pattern, "*")));
      if (!is_meant) continue;
      is_known = true;
      table_.allowed_[method].insert(line.words.begin() + 2, line.words.end());
    }
    if (!is_known) {
      faults_.Add(line.number, absl::StrCat("no method is named ", ShowWord(pattern),
                                            "; expected SERVICE/METHOD or SERVICE/*"));
    }
    for (size_t i = 2; i < line.words.size(); ++i) {
      if (!IsReserved(line.words[i])) named_.emplace_back(line.number, line.words[i]);
    }
  }

  CallerTable& table_;
  const std::vector<std::string>& methods_;
  CallerFaults faults_{"CALLERS_FILE"};
  std::vector<std::pair<int, std::string>> named_;
};

CallerTable::CallerTable() : anyone_(std::make_shared<Caller>()) {
  anyone_->load = std::make_shared<CallerLoad>();
}

absl::StatusOr<CallerTable> CallerTable::Parse(absl::string_view text,
                                               const std::vector<std::string>& methods) {
  CallerTable table;
  CallerTableReader reader(table, methods);
  for (const CallerLine& line : SplitCallerLines(text)) reader.Read(line);
  const absl::Status verdict = reader.Verdict();
  if (!verdict.ok()) return verdict;
  return table;
}

CallerRef CallerTable::Find(absl::string_view name) const {
  const auto found = callers_.find(Key(name));
  return found == callers_.end() ? nullptr : found->second;
}

CallerRef CallerTable::FindByPeer(const std::vector<std::string>& peer_names) const {
  for (const std::string& peer : peer_names) {
    const auto found = caller_of_peer_.find(peer);
    if (found != caller_of_peer_.end()) return Find(found->second);
  }
  return nullptr;
}

bool CallerTable::AllowsAnyone(absl::string_view method) const {
  const auto found = allowed_.find(Key(method));
  return found != allowed_.end() && found->second.count(kAnyone) > 0;
}

bool CallerTable::Allows(absl::string_view method, const Caller& caller) const {
  const auto found = allowed_.find(Key(method));
  if (found == allowed_.end()) return false;
  const auto& names = found->second;
  return names.count(caller.name) > 0 || names.count(kAnyCaller) > 0 || names.count(kAnyone) > 0;
}

std::vector<CallerRef> CallerTable::callers() const {
  std::vector<CallerRef> callers;
  for (const auto& [name, caller] : callers_) callers.push_back(caller);
  return callers;
}

void CallerTable::AdoptLoad(const CallerTable& before) {
  anyone_->load = before.anyone_->load;
  for (auto& [name, caller] : callers_) {
    const auto found = before.callers_.find(name);
    if (found != before.callers_.end()) caller->load = found->second->load;
  }
}

}  // namespace counter
