#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

// All that the child needs between fork and exec, made before: only async-signal-safe calls are
// allowed in between, because other threads of the test may hold locks.
struct Plan {
  std::vector<char*> argv;
  std::vector<char*> envp;
  const char* working_directory = nullptr;
  int in = -1;
  int out = -1;
  int err = -1;
  int error_pipe = -1;  // Closed by a successful exec; else receives errno.
  pid_t parent = -1;
};

[[noreturn]] void RunChild(const Plan& plan) {
  const auto fail = [&plan] {
    const int error = errno;
    if (write(plan.error_pipe, &error, sizeof error) < 0) _exit(126);
    _exit(127);
  };
  if (setpgid(0, 0) != 0) fail();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  // The parent may have died before the line above took effect.
  if (getppid() != plan.parent) _exit(127);
  if (plan.working_directory != nullptr && chdir(plan.working_directory) != 0) fail();
  if (dup2(plan.in, 0) < 0 || dup2(plan.out, 1) < 0 || dup2(plan.err, 2) < 0) fail();
  // Listeners and channels of the test must not live on in the child. The error pipe closes itself.
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  // A test may have blocked or ignored signals; the program starts with the defaults.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvpe(plan.argv[0], plan.argv.data(), plan.envp.data());
  fail();
  _exit(127);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

int OpenOutput(const std::string& path) {
  if (path.empty()) return open("/dev/null", O_WRONLY | O_CLOEXEC);
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

absl::Status Errno(absl::string_view what, int error) {
  return absl::InternalError(absl::StrCat(what, ": ", std::strerror(error)));
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A line of /proc/PID/status, "VmRSS:    1234 kB", as bytes.
int64_t StatusBytes(pid_t pid, absl::string_view key) {
  const std::string status = ReadFile(absl::StrCat("/proc/", pid, "/status"));
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::ConsumePrefix(&line, key) || !absl::ConsumePrefix(&line, ":")) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t kib = 0;
    if (words.empty() || !absl::SimpleAtoi(words[0], &kib)) return 0;
    return kib * 1024;
  }
  return 0;
}

}  // namespace

std::string ToString(const ExitStatus& status) {
  if (status.signal != 0) return absl::StrCat("signal ", status.signal);
  return absl::StrCat("exit ", status.code);
}

std::map<std::string, std::string> Process::BaseEnv() {
  std::map<std::string, std::string> env;
  for (const char* name : {"PATH", "TMPDIR", "TEST_TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                           "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) env[name] = value;
  }
  env["LC_ALL"] = "C.UTF-8";
  return env;
}

absl::StatusOr<Process> Process::Start(const Options& options) {
  if (options.argv.empty()) return absl::InvalidArgumentError("argv is empty");
  Descriptor in(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor out(OpenOutput(options.stdout_path));
  if (out.get() < 0) return Errno(options.stdout_path, errno);
  Descriptor err(OpenOutput(options.stderr_path));
  if (err.get() < 0) return Errno(options.stderr_path, errno);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return Errno("pipe", errno);
  Descriptor reads(pipe_ends[0]);
  Descriptor writes(pipe_ends[1]);

  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env;
  for (const auto& [name, value] : options.env) env.push_back(absl::StrCat(name, "=", value));
  Plan plan;
  plan.argv = Pointers(argv);
  plan.envp = Pointers(env);
  if (!options.working_directory.empty())
    plan.working_directory = options.working_directory.c_str();
  plan.in = in.get();
  plan.out = out.get();
  plan.err = err.get();
  plan.error_pipe = writes.get();
  plan.parent = getpid();

  const pid_t pid = fork();
  if (pid < 0) return Errno("fork", errno);
  if (pid == 0) RunChild(plan);

  writes.Close();
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(reads.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    waitpid(pid, nullptr, 0);
    return Errno(options.argv[0], error);
  }
  // Cannot be the pid of somebody else: the child is ours and not yet collected.
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) {
    const int pidfd_error = errno;
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Errno("pidfd_open", pidfd_error);
  }
  return Process(pid, pidfd);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      exit_(std::exchange(other.exit_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    End();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::exchange(other.pidfd_, -1);
    exit_ = std::exchange(other.exit_, std::nullopt);
  }
  return *this;
}

Process::~Process() { End(); }

void Process::End() noexcept {
  if (pid_ < 0) return;
  Kill();
  Wait(absl::InfiniteDuration());
  pid_ = -1;
}

bool Process::Running() { return !Wait(absl::ZeroDuration()).has_value(); }

bool Process::Signal(int signal) const { return pidfd_ >= 0 && kill(pid_, signal) == 0; }

bool Process::Kill() const { return pidfd_ >= 0 && kill(-pid_, SIGKILL) == 0; }

std::optional<ExitStatus> Process::Wait(absl::Duration deadline) {
  if (exit_.has_value() || pidfd_ < 0) return exit_;
  const absl::Time end = absl::Now() + deadline;
  while (true) {
    const absl::Duration left = std::max(end - absl::Now(), absl::ZeroDuration());
    const int64_t wait_ms = absl::ToInt64Milliseconds(
        std::min(absl::Ceil(left, absl::Milliseconds(1)), absl::Hours(1)));
    pollfd ready = {pidfd_, POLLIN, 0};
    const int polled = poll(&ready, 1, static_cast<int>(wait_ms));
    if (polled > 0) break;
    if (polled == 0 && left <= absl::Hours(1)) return std::nullopt;
  }
  // What the child left behind of its group. Now, because the group's number may be given to
  // somebody else once the child is collected.
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  close(std::exchange(pidfd_, -1));
  exit_ =
      WIFSIGNALED(status) ? ExitStatus{-1, WTERMSIG(status)} : ExitStatus{WEXITSTATUS(status), 0};
  return exit_;
}

int64_t Process::ResidentBytes() const { return StatusBytes(pid_, "VmRSS"); }

int64_t Process::PeakResidentBytes() const { return StatusBytes(pid_, "VmHWM"); }

void Process::ResetPeak() const { WriteFile(absl::StrCat("/proc/", pid_, "/clear_refs"), "5"); }

}  // namespace counter::testing
