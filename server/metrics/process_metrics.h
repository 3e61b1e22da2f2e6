// ProcessMetrics: what the system knows of this process, under the names that every Prometheus
// client uses, so that dashboards for processes work.
//
// | metric | type | what it says |
// |---|---|---|
// | process_cpu_seconds_total | counter | processor time, of user and system |
// | process_resident_memory_bytes | gauge | memory that is in RAM |
// | process_virtual_memory_bytes | gauge | address space |
// | process_open_fds | gauge | file descriptors that are open |
// | process_max_fds | gauge | file descriptors that may be open |
// | process_start_time_seconds | gauge | when it started, in seconds since 1970 |
// | counter_clock_seconds | gauge | this machine's clock, in seconds since 1970: the times in
// answers
//     come from it, so an operator wants to know when it is wrong |
//
// What cannot be read is left out. Threads: any. Reads /proc: for a scrape, not for a call.
#ifndef COUNTER_SERVER_METRICS_PROCESS_METRICS_H_
#define COUNTER_SERVER_METRICS_PROCESS_METRICS_H_

#include <vector>

#include <prometheus/metric_family.h>

namespace counter {

void AppendProcessMetrics(std::vector<prometheus::MetricFamily>& all);

}  // namespace counter

#endif  // COUNTER_SERVER_METRICS_PROCESS_METRICS_H_
