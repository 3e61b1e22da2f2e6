#include "tests/support/counter_server.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"

namespace counter::testing {
namespace {

// The port of the line "`name`=ADDRESS:PORT"; 0 if there is none.
int PortOf(absl::string_view ready_text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(ready_text, '\n')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0] != name) continue;
    const size_t colon = parts[1].rfind(':');
    int port = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(parts[1].substr(colon + 1), &port))
      return 0;
    return port;
  }
  return 0;
}

std::string Tail(const std::string& text) {
  constexpr size_t kTailBytes = 4096;
  return text.size() <= kTailBytes ? text : text.substr(text.size() - kTailBytes);
}

}  // namespace

CounterServer::CounterServer(Options options)
    : options_(std::move(options)),
      data_dir_(options_.data_dir.empty() ? temp_.File("data") : options_.data_dir) {
  std::filesystem::create_directories(data_dir_);
}

absl::StatusOr<std::unique_ptr<CounterServer>> CounterServer::StartUnready(Options options) {
  if (options.binary.empty()) {
    const char* binary = std::getenv("COUNTERD");
    if (binary == nullptr)
      return absl::FailedPreconditionError("COUNTERD does not name the program to start");
    options.binary = binary;
  }
  std::unique_ptr<CounterServer> server(new CounterServer(std::move(options)));
  const absl::Status spawned = server->Spawn();
  if (!spawned.ok()) return spawned;
  return server;
}

absl::StatusOr<std::unique_ptr<CounterServer>> CounterServer::Start(Options options) {
  absl::StatusOr<std::unique_ptr<CounterServer>> server = StartUnready(std::move(options));
  if (!server.ok()) return server.status();
  const absl::Status ready = (*server)->WaitReady();
  if (!ready.ok()) return ready;
  return server;
}

absl::Status CounterServer::Spawn() {
  std::filesystem::remove(temp_.File("ready"));
  Process::Options process;
  process.argv = {options_.binary};
  process.argv.insert(process.argv.end(), options_.args.begin(), options_.args.end());
  process.env = Process::BaseEnv();
  process.env["GRPC_LISTEN"] = absl::StrCat("127.0.0.1:", grpc_port_);
  process.env["HTTP_LISTEN"] = absl::StrCat("127.0.0.1:", http_port_);
  process.env["METRICS_LISTEN"] = absl::StrCat("127.0.0.1:", metrics_port_);
  process.env["DATA_DIR"] = data_dir_;
  process.env["READY_FILE"] = temp_.File("ready");
  for (const auto& [name, value] : options_.env) process.env[name] = value;
  process.stdout_path = log_path();
  process.stderr_path = log_path();
  absl::StatusOr<Process> started = Process::Start(process);
  if (!started.ok()) return started.status();
  process_.emplace(*std::move(started));
  return absl::OkStatus();
}

absl::Status CounterServer::WaitReady() {
  const std::string ready_path = temp_.File("ready");
  bool ended = false;
  const bool ready = Eventually(options_.ready_deadline, [&] {
    // In this order, so that one which was ready and ended at once counts as ready.
    ended = !process_->Running();
    return std::filesystem::exists(ready_path) || ended;
  });
  if (!ready) return Failure("not ready in time");
  const std::string text = ReadFile(ready_path);
  const int grpc_port = PortOf(text, "grpc");
  if (grpc_port == 0 && ended)
    return Failure(absl::StrCat("ended before it was ready: ", ToString(*process_->Wait({}))));
  if (grpc_port == 0) return Failure(absl::StrCat("no gRPC port in the ready file: ", text));
  grpc_port_ = grpc_port;
  http_port_ = PortOf(text, "http");
  metrics_port_ = PortOf(text, "metrics");
  admin_port_ = PortOf(text, "admin");
  return absl::OkStatus();
}

absl::Status CounterServer::Failure(absl::string_view what) const {
  return absl::InternalError(absl::StrCat(options_.binary, " ", what, "\n", Tail(Log())));
}

std::string CounterServer::target() const { return absl::StrCat("127.0.0.1:", grpc_port_); }

void CounterServer::Kill9() {
  process_->Kill();
  process_->Wait(absl::InfiniteDuration());
}

void CounterServer::Terminate(int signal) { process_->Signal(signal); }

std::optional<ExitStatus> CounterServer::WaitExit(absl::Duration deadline) {
  return process_->Wait(deadline);
}

absl::Status CounterServer::Restart(const std::map<std::string, std::string>& env) {
  for (const auto& [name, value] : env) options_.env[name] = value;
  const absl::Status spawned = Spawn();
  if (!spawned.ok()) return spawned;
  return WaitReady();
}

absl::StatusOr<MetricsText> CounterServer::Metrics() const {
  const HttpClient::Answer answer = HttpClient(metrics_port_, absl::Seconds(5)).Get("/metrics");
  if (answer.status != 200)
    return absl::InternalError(absl::StrCat("/metrics answered ", answer.status, " ", answer.body));
  return MetricsText::Parse(answer.body);
}

std::string CounterServer::Log() const { return ReadFile(log_path()); }

std::string CounterServer::log_path() const {
  return options_.log_path.empty() ? temp_.File("log") : options_.log_path;
}

}  // namespace counter::testing
