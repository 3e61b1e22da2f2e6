// Preloaded into a program under test (LD_PRELOAD): its wall clock is as much off as the file says
// that COUNTER_TEST_CLOCK names: eight bytes, nanoseconds. The steady clock is left alone, as by a
// machine whose clock is set. See shifted_clock.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Null: the clock is right.
const std::atomic<int64_t>* MapShift() {
  const char* path = std::getenv("COUNTER_TEST_CLOCK");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<const std::atomic<int64_t>*>(mapped);
}

int64_t Shift() {
  static const std::atomic<int64_t>* const shift = MapShift();
  return shift == nullptr ? 0 : shift->load(std::memory_order_relaxed);
}

int RealTime(clockid_t clock, timespec* time) {
  static const auto real =
      reinterpret_cast<int (*)(clockid_t, timespec*)>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real(clock, time);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = RealTime(clock, time);
  if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  const int64_t shifted = time->tv_sec * kSecond + time->tv_nsec + Shift();
  time->tv_sec = shifted / kSecond;
  time->tv_nsec = shifted % kSecond;
  return 0;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now = {};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

time_t time(time_t* result) noexcept {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
