// DiskReadings: how full the disk below a folder is, as readings for AddReadings.
//
// Threads: any; asks the file system, which may block: for a scrape, not for a call.
#ifndef COUNTER_SERVER_METRICS_DISK_READINGS_H_
#define COUNTER_SERVER_METRICS_DISK_READINGS_H_

#include <string>
#include <vector>

#include "server/metrics/metrics.h"

namespace counter {

// counter_data_disk_free_bytes, what this process may still write, and
// counter_data_disk_size_bytes. Nothing if the folder cannot be asked.
std::vector<MetricReading> DiskReadings(const std::string& folder);

}  // namespace counter

#endif  // COUNTER_SERVER_METRICS_DISK_READINGS_H_
