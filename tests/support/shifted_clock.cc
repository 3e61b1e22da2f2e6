#include "tests/support/shifted_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr mode_t kReadableByAll = 0644;
constexpr mode_t kUsableByAll = 0755;

}  // namespace

ShiftedClock::ShiftedClock() {
  const char* shim = std::getenv("CLOCK_SHIM");
  const bool sanitized = Slowness() > 1;
  if (shim == nullptr || sanitized) return;
  std::error_code error;
  std::filesystem::copy_file(shim, directory_.path() + "/shim.so", error);
  if (error) return;
  chmod((directory_.path() + "/shim.so").c_str(), kUsableByAll);
  chmod(directory_.path().c_str(), kUsableByAll);
  const std::string path = directory_.path() + "/shift";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadableByAll);
  if (file < 0) return;
  fchmod(file, kReadableByAll);
  if (ftruncate(file, sizeof(int64_t)) == 0) {
    void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) shift_ = static_cast<int64_t*>(mapped);
  }
  close(file);
}

ShiftedClock::~ShiftedClock() {
  if (shift_ != nullptr) munmap(shift_, sizeof(int64_t));
}

std::map<std::string, std::string> ShiftedClock::Env() const {
  if (!works()) return {};
  return {{"LD_PRELOAD", directory_.path() + "/shim.so"},
          {"COUNTER_TEST_CLOCK", directory_.path() + "/shift"}};
}

void ShiftedClock::Set(absl::Duration shift) {
  if (!works()) return;
  std::atomic_ref<int64_t>(*shift_).store(absl::ToInt64Nanoseconds(shift),
                                          std::memory_order_relaxed);
}

}  // namespace counter::testing
