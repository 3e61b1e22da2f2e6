// Process: a real process that a test starts, watches and ends.
//
// Use it for every program under test (counterd, and the databases that later tests start). It is
// not a shell and not a daemon manager: one program, one process group, gone with the object.
//
// - The child leads a process group of its own. Kill() and the destructor end the whole group, and
//   whatever is left of it when the child has ended and is collected.
// - The child dies with the THREAD that called Start (PR_SET_PDEATHSIG), so that a test that is
//   killed leaves nothing behind. Call Start from a thread that lives as long as the process.
// - Nothing is inherited but file descriptors 0 (the null device), 1 and 2, and what `env` says.
//
// Threads: Signal, Kill, pid and the memory readings may be called from any thread while no other
// thread is in Wait, a move or the destructor; the rest one thread at a time.
#ifndef COUNTER_TESTS_SUPPORT_PROCESS_H_
#define COUNTER_TESTS_SUPPORT_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace counter::testing {

// How a process ended: by exit(code) or by a signal.
struct ExitStatus {
  int code = -1;   // -1 if it was ended by a signal.
  int signal = 0;  // 0 if it ended by exit().

  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};
// "exit 0" or "signal 9"; for messages of tests.
std::string ToString(const ExitStatus& status);

class Process {
 public:
  struct Options {
    std::vector<std::string> argv;  // argv[0] is a path, or a name that is looked up in PATH.
    std::map<std::string, std::string> env;  // All of the child's environment; see BaseEnv().
    std::string working_directory;           // Empty: the test's own.
    std::string stdout_path;                 // Appended to. Empty: the null device.
    std::string stderr_path;                 // Appended to. Empty: the null device.
  };

  // What a child needs in any case: PATH, the temporary directory, the settings of the sanitizers.
  // Nothing that could configure the product.
  static std::map<std::string, std::string> BaseEnv();

  // Starts the program; an error if it cannot be executed.
  static absl::StatusOr<Process> Start(const Options& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // Kills the group and collects the child, if that has not happened.

  pid_t pid() const { return pid_; }
  // Whether the child has not ended yet. Collects it if it has.
  bool Running();

  // Sends to the child alone. False if it has been collected already.
  bool Signal(int signal) const;
  // SIGKILL to the whole group. False if the child has been collected already.
  bool Kill() const;

  // Waits until the child has ended, but not longer than `deadline` from now; absent if it has not.
  // The same answer again once it was given.
  std::optional<ExitStatus> Wait(absl::Duration deadline);

  // Resident memory, now and at its highest since the start or the last ResetPeak; bytes. 0 if it
  // cannot be read.
  int64_t ResidentBytes() const;
  int64_t PeakResidentBytes() const;
  void ResetPeak() const;

 private:
  Process(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  void End() noexcept;

  pid_t pid_ = -1;
  int pidfd_ = -1;  // -1 once the child was collected.
  std::optional<ExitStatus> exit_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_PROCESS_H_
