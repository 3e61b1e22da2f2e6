// DiskFaults: makes the disk under SQLite fail, and counts what is flushed.
//
// Linking this library into a test puts its own fdatasync and pwrite64 before those of the C
// library, for SQLite and everybody else in the process. Without a fault they pass on.
//
// Threads: any.
#ifndef COUNTER_TESTS_STORAGE_DISK_FAULTS_H_
#define COUNTER_TESTS_STORAGE_DISK_FAULTS_H_

#include <atomic>
#include <cstdint>

namespace counter::testing {

struct DiskFaults {
  std::atomic<bool> full{false};          // Writes fail with ENOSPC.
  std::atomic<bool> writes_fail{false};   // Writes fail with EIO.
  std::atomic<bool> flushes_fail{false};  // Flushes fail with EIO.
  std::atomic<int64_t> flushes{0};        // That succeeded.
};
DiskFaults& Disk();

}  // namespace counter::testing

#endif  // COUNTER_TESTS_STORAGE_DISK_FAULTS_H_
