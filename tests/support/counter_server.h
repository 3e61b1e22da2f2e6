// CounterServer: a real counterd for a test, on ports and a data folder of its own.
//
// It finds the program through the environment variable COUNTERD (the BUILD file of a test sets it:
// env = {"COUNTERD": "$(rootpath //server:counterd)"}), starts it with GRPC_LISTEN,
// HTTP_LISTEN and METRICS_LISTEN on port 0 of 127.0.0.1, DATA_DIR and READY_FILE in a temporary
// directory, and waits for the ready file. The child sees no other setting than those and `env`.
//
// The data and the ports outlive a Restart(); they end with the object.
//
// Threads: Start, Restart, Kill9, WaitExit and the destructor from one thread (the child dies with
// the thread that started it); target(), ports, Terminate, Metrics from any thread meanwhile.
#ifndef COUNTER_TESTS_SUPPORT_COUNTER_SERVER_H_
#define COUNTER_TESTS_SUPPORT_COUNTER_SERVER_H_

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/support/metrics_text.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {

class CounterServer {
 public:
  struct Options {
    std::string binary;                      // Empty: the environment variable COUNTERD.
    std::vector<std::string> args;           // After the program's name.
    std::map<std::string, std::string> env;  // Settings, over those that a test always makes.
    std::string data_dir;                    // Empty: one of its own.
    std::string log_path;                    // Where it writes. Empty: a file of its own.
    absl::Duration ready_deadline = absl::Seconds(10);
  };

  // Starts and waits until it is ready. The error, if it ended or was not ready in time, holds what
  // it wrote.
  static absl::StatusOr<std::unique_ptr<CounterServer>> Start(Options options);
  // Starts and does not wait. Ports are not known before WaitReady() was OK.
  static absl::StatusOr<std::unique_ptr<CounterServer>> StartUnready(Options options);
  absl::Status WaitReady();

  ~CounterServer() = default;  // Kills it.
  CounterServer(const CounterServer&) = delete;
  CounterServer& operator=(const CounterServer&) = delete;

  // Where gRPC is served: "127.0.0.1:PORT".
  std::string target() const;
  int grpc_port() const { return grpc_port_; }
  int http_port() const { return http_port_; }
  int metrics_port() const { return metrics_port_; }
  // Where AdminService is served; 0 unless the settings ask for it.
  int admin_port() const { return admin_port_; }
  const std::string& data_dir() const { return data_dir_; }
  Process& process() { return *process_; }

  // SIGKILL, and waits until it is gone.
  void Kill9();
  // Asks it to stop; does not wait.
  void Terminate(int signal = SIGTERM);
  // How it ended; absent if it is still there after `deadline`.
  std::optional<ExitStatus> WaitExit(absl::Duration deadline);
  // Starts it again on the same data and the same ports, with `env` over the settings it had, and
  // waits until it is ready. Requires that it has ended.
  absl::Status Restart(const std::map<std::string, std::string>& env = {});

  // A scrape of /metrics.
  absl::StatusOr<MetricsText> Metrics() const;
  // What all its runs wrote to stdout and stderr: for the message of a failed test, not for tests
  // to read.
  std::string Log() const;

 private:
  explicit CounterServer(Options options);
  absl::Status Spawn();
  absl::Status Failure(absl::string_view what) const;
  std::string log_path() const;

  TempDir temp_;
  Options options_;
  std::string data_dir_;
  std::optional<Process> process_;
  int grpc_port_ = 0;  // 0: not known yet.
  int http_port_ = 0;
  int metrics_port_ = 0;
  int admin_port_ = 0;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_COUNTER_SERVER_H_
