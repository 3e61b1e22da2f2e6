#include "clients/cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cli/exit_status.h"
#include "clients/cpp/health.h"

namespace counter::cli {
namespace {

// The most items that the service takes in one call; more are asked for in several.
constexpr size_t kItemsACall = 1000;

std::string Text(const Item& item) { return absl::StrCat(item.type, ":", item.id); }

std::string Text(client::Source source) {
  switch (source) {
    case client::Source::kCache:
      return "CACHE";
    case client::Source::kReplica:
      return "REPLICA";
    case client::Source::kPrimary:
      return "PRIMARY";
    case client::Source::kUnknown:
      break;
  }
  return "UNKNOWN";
}

std::string Text(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

const char* Text(client::Health health) {
  switch (health) {
    case client::Health::kServing:
      return "SERVING";
    case client::Health::kNotServing:
      return "NOT_SERVING";
    case client::Health::kServiceUnknown:
      break;
  }
  return "SERVICE_UNKNOWN";
}

std::string UserAgent() { return absl::StrCat("counterctl/", client::kVersion); }

}  // namespace

bool ParseItem(const std::string& text, Item& item) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(text.substr(colon + 1), &item.id))
    return false;
  item.type = text.substr(0, colon);
  return true;
}

int Command::Fail(const client::Error& error) const {
  err_ << "counterctl: " << error.ToString() << '\n';
  return kExitUsage + error.grpc_code;
}

template <class Reply>
int Command::Write(client::Result<Reply> (client::Client::*write)(int64_t, const Item&,
                                                                  const client::CallOptions&) const,
                   const char* changed, const char* unchanged) {
  const Item& item = settings_.items.front();
  const client::Client client = Connect();
  const client::Result<Reply> reply = (client.*write)(settings_.user, item, Call());
  if (!reply.ok()) return Fail(reply.error());
  PrintRow({{"item", Text(item)},
            {"status", std::string(reply->changed ? changed : unchanged)},
            {"count", reply->count},
            {"consistency_token", reply->consistency_token}},
           settings_.format, out_);
  return 0;
}

int Command::Like() { return Write(&client::Client::Like, "LIKED", "ALREADY_LIKED"); }

int Command::Unlike() { return Write(&client::Client::Unlike, "UNLIKED", "NOT_LIKED"); }

int Command::InParts(const std::function<int(const std::vector<Item>& part)>& ask) {
  const std::vector<Item>& items = settings_.items;
  for (size_t begin = 0; begin < items.size(); begin += kItemsACall) {
    const size_t end = std::min(items.size(), begin + kItemsACall);
    const int failed = ask({items.begin() + static_cast<std::ptrdiff_t>(begin),
                            items.begin() + static_cast<std::ptrdiff_t>(end)});
    if (failed != 0) return failed;
  }
  return 0;
}

int Command::Count() {
  const client::Client client = Connect();
  std::vector<Row> rows;
  const int failed = InParts([&](const std::vector<Item>& part) {
    const client::Result<client::CountsReply> reply = client.Counts(part, Read(), Call());
    if (!reply.ok()) return Fail(reply.error());
    for (const client::ItemCount& count : reply->counts)
      rows.push_back({{"item", Text(count.item)},
                      {"count", count.count},
                      {"source", Text(count.source)},
                      {"as_of", Text(count.as_of)},
                      {"consistency_token", count.consistency_token}});
    return 0;
  });
  if (failed != 0) return failed;
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::HasLiked() {
  const client::Client client = Connect();
  std::vector<Row> rows;
  const int failed = InParts([&](const std::vector<Item>& part) {
    const client::Result<client::HasLikedReply> reply =
        client.HasLiked(settings_.user, part, Read(), Call());
    if (!reply.ok()) return Fail(reply.error());
    for (size_t i = 0; i < part.size(); ++i)
      rows.push_back({{"item", Text(part[i])}, {"liked", static_cast<bool>(reply->liked[i])}});
    return 0;
  });
  if (failed != 0) return failed;
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::Watch() const {
  const client::Client client = Connect();
  return RunWatch(client, settings_.items, settings_.watch, settings_.format, out_, err_);
}

int Command::Status() const {
  const client::HealthProbe probe(settings_.server, settings_.credentials);
  const absl::Time before = absl::Now();
  std::vector<Row> rows;
  for (const char* service : {"", "calls", "liveness"}) {
    const client::Result<client::Health> health = probe.Check(service, settings_.deadline);
    if (!health.ok()) return Fail(health.error());
    rows.push_back({{"what", std::string(*service == 0 ? "readiness" : service)},
                    {"status", std::string(Text(*health))}});
  }
  const absl::Duration asked = (absl::Now() - before) / static_cast<double>(rows.size());
  rows.push_back({{"what", std::string("server")}, {"status", settings_.server}});
  rows.push_back({{"what", std::string("round trip")},
                  {"status", absl::FormatDuration(absl::Trunc(asked, absl::Microseconds(10)))}});
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::Import() const {
  const client::Client client = Connect(/*wait_for_ready=*/true);
  return RunImport(Importer::WriteLikesOf(client), settings_.import, settings_.format, OnTerminal(),
                   out_, err_);
}

int Command::Export() const {
  const client::Client client = Connect(/*wait_for_ready=*/true);
  return RunExport(client, settings_.export_, settings_.format, OnTerminal(), out_, err_);
}

int Command::Check() const {
  return RunCheck(settings_.admin, settings_.check, settings_.items, settings_.format, out_, err_);
}

int Command::AdminAudit() const { return RunAudit(settings_.admin, settings_.format, out_, err_); }

int Command::AdminRepair() const {
  return RunRepair(settings_.admin, settings_.format, out_, err_);
}

int Command::AdminEraseUser() const {
  return RunEraseUser(settings_.admin, settings_.user, settings_.format, out_, err_);
}

int Command::AdminDeleteItem() const {
  return RunDeleteItem(settings_.admin, settings_.items.front(), settings_.format, out_, err_);
}

int Command::AdminImport() const {
  return RunAdminImport(settings_.admin, settings_.import, settings_.format, OnTerminal(), out_,
                        err_);
}

bool Command::OnTerminal() const { return &err_ == &std::cerr && ::isatty(STDERR_FILENO) == 1; }

int Command::Bench() const {
  BenchSettings bench = settings_.bench;
  bench.load.target = settings_.server;
  bench.load.credentials = settings_.credentials;
  bench.load.user_agent = UserAgent();
  bench.load.deadline = settings_.deadline;
  bench.workload.strong = settings_.strong;
  const client::Client client = Connect(/*wait_for_ready=*/true);
  return RunBench(client, bench, settings_.format, OnTerminal(), out_, err_);
}

int Command::Verify() const {
  const client::Client once = client::Client::Connect({.target = settings_.server,
                                                       .deadline = settings_.deadline,
                                                       .retries = false,
                                                       .user_agent = UserAgent()});
  const client::Client patient = Connect(/*wait_for_ready=*/true);
  VerifySettings verify = settings_.verify;
  verify.load.deadline = settings_.deadline;
  return RunVerify(once, patient, verify, settings_.format, out_, err_);
}

int Command::Complain(const std::string& message) const {
  err_ << "counterctl: " << message << '\n';
  return kExitUsage;
}

int Command::ListContexts() const {
  Contexts contexts;
  const std::string fault = ReadContexts(ContextsPath(), contexts);
  if (!fault.empty()) return Complain(fault);
  std::vector<Row> rows;
  for (const auto& [name, server] : contexts.servers)
    rows.push_back({{"context", name}, {"server", server}, {"current", name == contexts.current}});
  PrintRows(rows, settings_.format, out_);
  return 0;
}

int Command::ChangeContexts(const std::function<std::string(Contexts& contexts)>& change) const {
  Contexts contexts;
  std::string fault = ReadContexts(ContextsPath(), contexts);
  if (fault.empty()) fault = change(contexts);
  if (fault.empty()) fault = WriteContexts(ContextsPath(), contexts);
  return fault.empty() ? 0 : Complain(fault);
}

int Command::SetContext() const {
  return ChangeContexts([this](Contexts& contexts) {
    contexts.servers[settings_.context_name] = settings_.context_server;
    if (contexts.current.empty()) contexts.current = settings_.context_name;
    return std::string();
  });
}

int Command::UseContext() const {
  return ChangeContexts([this](Contexts& contexts) {
    if (contexts.servers.count(settings_.context_name) == 0)
      return absl::StrCat("no context ", settings_.context_name);
    contexts.current = settings_.context_name;
    return std::string();
  });
}

int Command::DeleteContext() const {
  return ChangeContexts([this](Contexts& contexts) {
    if (contexts.servers.erase(settings_.context_name) == 0)
      return absl::StrCat("no context ", settings_.context_name);
    if (contexts.current == settings_.context_name) contexts.current.clear();
    return std::string();
  });
}

client::Client Command::Connect(bool wait_for_ready) const {
  return client::Client::Connect({.target = settings_.server,
                                  .deadline = settings_.deadline,
                                  .wait_for_ready = wait_for_ready,
                                  .user_agent = UserAgent(),
                                  .credentials = settings_.credentials});
}

int Command::Health() const {
  const client::HealthProbe probe(settings_.server, settings_.credentials);
  const client::Result<client::Health> health =
      settings_.health_wait > absl::ZeroDuration()
          ? probe.WaitUntilServing(settings_.health_service, settings_.health_wait)
          : probe.Check(settings_.health_service, settings_.deadline);
  if (!health.ok()) return Fail(health.error());
  const auto answer = [this](const char* status, int code) {
    PrintRow({{"status", std::string(status)}}, settings_.format, out_);
    return code;
  };
  switch (*health) {
    case client::Health::kServing:
      return answer("SERVING", 0);
    case client::Health::kNotServing:
      return answer("NOT_SERVING", kExitUsage + kGrpcUnavailable);
    case client::Health::kServiceUnknown:
      break;
  }
  return answer("SERVICE_UNKNOWN", kExitUsage + kGrpcNotFound);
}

}  // namespace counter::cli
