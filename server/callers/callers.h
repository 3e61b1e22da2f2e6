// Callers: who calls, and whether that caller may: the one place where credentials become a name
// and a name becomes a permission, for every way in (gRPC, REST, Connect, the admin listener).
//
// Credentials are a bearer token (`authorization: Bearer TOKEN`) or, where callers show them, the
// names of a verified certificate; a token goes before a certificate. The table of callers and the
// tokens come from two files, are read together and kept up to date with them (Reloaded).
//
// Without a table everybody is let in, as long as TLS lets them; the first name of the certificate
// is then the caller's, for the log. With a table whoever is not allowed is denied:
//   UNAUTHENTICATED (kUnauthenticated)      no credentials, or a token that is nobody's
//   PERMISSION_DENIED (kCallerNotAllowed)   known, but not to this method
// Health is not asked about here: it is open.
//
// Threads: Load() and Look() one at a time; the rest any.
#ifndef COUNTER_SERVER_CALLERS_CALLERS_H_
#define COUNTER_SERVER_CALLERS_CALLERS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/callers/caller.h"
#include "server/callers/caller_table.h"
#include "server/callers/caller_tokens.h"
#include "server/files/reloaded.h"

namespace counter {

// What a caller shows. Asked for only when it is needed.
struct Credentials {
  std::optional<std::string> authorization;                // The header, whole.
  std::function<std::vector<std::string>()> peer_names{};  // Of the certificate; null: none.
};

class Callers {
 public:
  struct Options {
    std::string table_file;   // Empty: no table, everybody is let in.
    std::string tokens_file;  // Empty: no tokens. Requires a table.
    // Whether TLS asks callers for certificates; otherwise nobody's names are looked at.
    bool has_peer_names = false;
    // The full names of the methods that a table may allow.
    std::vector<std::string> methods;
  };

  explicit Callers(Options options);

  // With neither file there is nothing to do.
  absl::Status Load() { return files_.has_value() ? files_->Load() : absl::OkStatus(); }
  void Look() {
    if (files_.has_value()) files_->Look();
  }
  bool has_table() const { return files_.has_value(); }
  bool stale() const { return files_.has_value() && files_->stale(); }

  // Who makes a call of `method` ("counter.v1.CounterService/Like", with or without a slash before
  // it), or why it is not let in; a refusal is marked as not applied. Never null.
  absl::StatusOr<CallerRef> Admit(absl::string_view method, const Credentials& credentials) const;

  // What each caller of the table has under way, and, as "anyone", those who do not say who they
  // are.
  struct UnderWay {
    std::string name;
    int calls = 0;
    int watches = 0;
  };
  std::vector<UnderWay> AllUnderWay() const;

 private:
  struct Files {
    CallerTable table;
    CallerTokens tokens;
  };
  absl::StatusOr<Files> Parse(const std::vector<std::string>& texts);

  std::vector<std::string> PeerNamesOf(const Credentials& credentials) const;

  const std::vector<std::string> methods_;
  const bool has_peer_names_;
  // What the table that is read next takes over.
  std::optional<CallerTable> before_;
  std::optional<Reloaded<Files>> files_;
};

// Whether the caller may act for the user: OK, or kUserNotAllowed, marked as not applied.
absl::Status CheckUser(const Caller& caller, int64_t user_id);
// The same for a call that tells of users whoever they are.
absl::Status CheckAllUsers(const Caller& caller);

}  // namespace counter

#endif  // COUNTER_SERVER_CALLERS_CALLERS_H_
