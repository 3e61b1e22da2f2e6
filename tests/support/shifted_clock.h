// ShiftedClock: the wall clock of programs under test, which a test can set.
//
// Give its environment to a program (it preloads clock_shim.cc); Set() then moves the program's
// wall clock while it runs, as an operator or a time service would. Its steady clock goes on.
//
// Not under sanitizers, which want to be loaded first: Env() is empty then, and Set() does nothing.
//
// The BUILD file of a test names the shim: data = ["//tests/support:clock_shim.so"], env =
// {"CLOCK_SHIM": "$(rootpath //tests/support:clock_shim.so)"}.
//
// Threads: any. Ownership: must outlive the programs.
#ifndef COUNTER_TESTS_SUPPORT_SHIFTED_CLOCK_H_
#define COUNTER_TESTS_SUPPORT_SHIFTED_CLOCK_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "tests/support/postgres_server.h"

namespace counter::testing {

class ShiftedClock {
 public:
  ShiftedClock();
  ~ShiftedClock();
  ShiftedClock(const ShiftedClock&) = delete;
  ShiftedClock& operator=(const ShiftedClock&) = delete;

  // False where it cannot be done.
  bool works() const { return shift_ != nullptr; }
  std::map<std::string, std::string> Env() const;

  // How far the clock is from the real one, from now on.
  void Set(absl::Duration shift);

 private:
  // For all accounts, as PostgreSQL's.
  ServerDirectory directory_;
  int64_t* shift_ = nullptr;  // Mapped.
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_SHIFTED_CLOCK_H_
