#include "storage/postgres/sqlstate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/error.h"

namespace counter::postgres {

ErrorClass Classify(const ServerError& error) {
  const absl::string_view state = error.sqlstate;
  // No code: the driver lost the link. 25006: a primary that became a standby refuses writes for as
  // long as the connection lives. 26000: a pooler gave us a session that has not our statements.
  if (state.empty() || error.fatal || absl::StartsWith(state, "08") || state == "57P01" ||
      state == "57P02" || state == "57P03" || state == "57P05" || state == "25006" ||
      state == "26000" || state == "53300" || state == "0A000") {
    return ErrorClass::kConnectionUseless;
  }
  // 40P01 deadlock, 40001 serialization failure. 40003 is left out: it says "outcome unknown".
  if (state == "40P01" || state == "40001") return ErrorClass::kTransient;
  if (state == "55P03" || state == "57014") return ErrorClass::kTimeout;
  if (absl::StartsWith(state, "22") || absl::StartsWith(state, "23") || state == "21000" ||
      absl::StartsWith(state, "54") || absl::StartsWith(state, "P0")) {
    return ErrorClass::kRejected;
  }
  if (absl::StartsWith(state, "53") || absl::StartsWith(state, "58") ||
      absl::StartsWith(state, "XX")) {
    return ErrorClass::kOutOfResources;
  }
  return ErrorClass::kMisfit;
}

std::string SqlstateInText(absl::string_view text) {
  constexpr size_t kCodeSize = 5;
  const auto is_code = [](char c) { return absl::ascii_isdigit(c) || absl::ascii_isupper(c); };
  for (size_t at = text.find(":  "); at != absl::string_view::npos; at = text.find(":  ", at + 1)) {
    const absl::string_view code = text.substr(at + 3, kCodeSize);
    if (code.size() == kCodeSize && std::all_of(code.begin(), code.end(), is_code) &&
        absl::StartsWith(text.substr(at + 3 + kCodeSize), ":")) {
      return std::string(code);
    }
  }
  return "";
}

bool IsLastingRefusal(const ServerError& error) {
  // 28 wrong user or password, 3D000 no such database, 42501 no right to connect.
  return absl::StartsWith(error.sqlstate, "28") || error.sqlstate == "3D000" ||
         error.sqlstate == "42501";
}

bool IsRefusedStartupParameter(const ServerError& error) {
  // pgbouncer's code 08P01 says too little; its text is not translated.
  return absl::StrContains(error.message, "unsupported startup parameter");
}

absl::Status ToStatus(const ServerError& error) {
  switch (Classify(error)) {
    case ErrorClass::kTransient:
      return MakeError(ErrorReason::kStoreUnavailable,
                       "the store gave way to other writers too often; try again");
    case ErrorClass::kTimeout:
      return MakeError(ErrorReason::kStoreUnavailable,
                       "the store did not get to it in time; try again");
    case ErrorClass::kConnectionUseless:
      return MakeError(ErrorReason::kStoreUnavailable,
                       "the connection to the store was lost; try again");
    case ErrorClass::kOutOfResources:
      return MakeError(ErrorReason::kStoreUnavailable,
                       "the store is out of space or other resources; try again later");
    case ErrorClass::kRejected:
      return MakeError(ErrorReason::kInternal, "the store refused the data of this mutation");
    case ErrorClass::kMisfit:
      return MakeError(ErrorReason::kInternal,
                       "the store cannot run what this server asks; see the server's log");
  }
  return MakeError(ErrorReason::kInternal, "unknown error of the store");
}

}  // namespace counter::postgres
