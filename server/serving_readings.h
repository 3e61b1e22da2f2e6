// ServingReadings: what the parts of a server that serve count about themselves, and their limits,
// as metrics. Part of main. docs/metrics.md lists the series.
//
// Threads: any. Ownership: values only; what is read must live.
#ifndef COUNTER_SERVER_SERVING_READINGS_H_
#define COUNTER_SERVER_SERVING_READINGS_H_

#include <vector>

#include "server/admin/admin_listener.h"
#include "server/config/config.h"
#include "server/counter_service.h"
#include "server/metrics/metrics.h"
#include "server/rpc/server.h"
#include "server/watch_hub.h"

namespace counter {

// What the gauges that go up with load may reach.
std::vector<MetricReading> LimitReadings(const Config& config);

std::vector<MetricReading> ServiceReadings(const CounterService& service);

// `most`: connections that may be open.
std::vector<MetricReading> ConnectionReadings(const rpc::Listener::Stats& stats, int most);

std::vector<MetricReading> WatchReadings(const WatchHub& hub);

// Null: there is no such listener. The series are there all the same, at 0.
std::vector<MetricReading> AdminReadings(const AdminListener* admin);

}  // namespace counter

#endif  // COUNTER_SERVER_SERVING_READINGS_H_
