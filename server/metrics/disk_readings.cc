#include "server/metrics/disk_readings.h"

#include <sys/statvfs.h>

#include <cstdint>

namespace counter {

std::vector<MetricReading> DiskReadings(const std::string& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return {};
  const auto bytes = [&](fsblkcnt_t blocks) {
    return static_cast<int64_t>(blocks) * static_cast<int64_t>(disk.f_frsize);
  };
  return {{MetricReading::Kind::kGauge,
           "counter_data_disk_free_bytes",
           "Room on the disk of DATA_DIR that this process may use.",
           {},
           bytes(disk.f_bavail)},
          {MetricReading::Kind::kGauge,
           "counter_data_disk_size_bytes",
           "Size of the disk of DATA_DIR.",
           {},
           bytes(disk.f_blocks)}};
}

}  // namespace counter
