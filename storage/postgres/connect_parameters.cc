#include "storage/postgres/connect_parameters.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace counter::postgres {
namespace {

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}
std::string Seconds(absl::Duration duration) {
  return absl::StrCat(std::max<int64_t>(1, absl::ToInt64Seconds(duration)));
}

// What is set in a session of our own.
std::string StartOptions(const ConnectionOptions& options) {
  return absl::StrCat(
      "-c synchronous_commit=on -c plan_cache_mode=force_generic_plan",
      " -c enable_seqscan=off -c jit=off",
      " -c statement_timeout=", Milliseconds(options.statement_timeout),
      " -c lock_timeout=", Milliseconds(options.lock_timeout),
      " -c idle_in_transaction_session_timeout=", Milliseconds(options.statement_timeout));
}

}  // namespace

void AddParameters(const ConnectionOptions& options, ConnectParameters& parameters) {
  if (!options.pooled) {
    std::string& session = parameters["options"];
    session = absl::StrCat(StartOptions(options), session.empty() ? "" : " ", session);
  }
  parameters["application_name"] = options.application_name;
  parameters["keepalives_idle"] = Seconds(options.tcp_timeout);
  parameters["keepalives_interval"] = "1";
  parameters["keepalives_count"] = Seconds(options.tcp_timeout);
  parameters["tcp_user_timeout"] = Milliseconds(options.tcp_timeout);
  // Kerberos look-ups may block.
  parameters.emplace("gssencmode", "disable");
  if (SeveralHosts(parameters)) {
    parameters.emplace("target_session_attrs",
                       options.role == ServerRole::kPrimary ? "read-write" : "standby");
  }
}

void StartWithHost(int first, ConnectParameters& parameters) {
  for (const char* name : {"host", "hostaddr", "port"}) {
    const auto list = parameters.find(name);
    if (list == parameters.end() || !absl::StrContains(list->second, ',')) continue;
    std::vector<std::string> each = absl::StrSplit(list->second, ',');
    std::rotate(each.begin(), each.begin() + first % static_cast<int>(each.size()), each.end());
    list->second = absl::StrJoin(each, ",");
  }
}

bool SeveralHosts(const ConnectParameters& parameters) {
  for (const char* name : {"host", "hostaddr"}) {
    const auto list = parameters.find(name);
    if (list != parameters.end() && absl::StrContains(list->second, ',')) return true;
  }
  return false;
}

}  // namespace counter::postgres
