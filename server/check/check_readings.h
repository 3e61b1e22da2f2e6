// CheckReadings: what the checker has counted, as metrics. docs/metrics.md lists the series.
//
// Threads: any. Values.
#ifndef COUNTER_SERVER_CHECK_CHECK_READINGS_H_
#define COUNTER_SERVER_CHECK_CHECK_READINGS_H_

#include <vector>

#include "server/check/copy_checker.h"
#include "server/metrics/metrics.h"

namespace counter {

// Of the layers that there are, and of each the results that it can have.
std::vector<MetricReading> CheckReadings(const CopyChecker& checker);

}  // namespace counter

#endif  // COUNTER_SERVER_CHECK_CHECK_READINGS_H_
