#include "server/check/check_readings.h"

#include <string>

#include "server/check/check_tally.h"

namespace counter {
namespace {

using Kind = MetricReading::Kind;

bool CanBe(CopyLayer layer, CopyResult result) {
  switch (result) {
    case CopyResult::kEqual:
    case CopyResult::kDiverged:
    case CopyResult::kUnanswered:
      return true;
    case CopyResult::kBehind:
      return layer != CopyLayer::kRecount;
    case CopyResult::kOvertaken:
    case CopyResult::kAhead:
      return layer != CopyLayer::kPrimary && layer != CopyLayer::kRecount;
    case CopyResult::kAbsent:
      return layer < CopyLayer::kReplica;
    case CopyResult::kSkipped:
      return layer == CopyLayer::kRecount;
  }
  return false;
}

}  // namespace

std::vector<MetricReading> CheckReadings(const CopyChecker& checker) {
  std::vector<MetricReading> readings;
  for (const CopyLayer layer : checker.layers()) {
    for (int age = 0; age < kCheckAges; ++age) {
      for (int r = 0; r < kCopyResults; ++r) {
        const auto result = static_cast<CopyResult>(r);
        if (!CanBe(layer, result)) continue;
        AddReading(readings, Kind::kCounter, "counter_check_copies_total",
                   "Copies of sampled writes that were compared so many seconds after the write, "
                   "by layer and result.",
                   checker.tally().Get(layer, age, result),
                   {{"layer", std::string(CopyLayerName(layer))},
                    {"age", kCheckAgeNames[static_cast<size_t>(age)]},
                    {"result", std::string(CopyResultName(result))}});
      }
    }
  }
  const SampledWrites::Stats stats = checker.writes().stats();
  AddReading(readings, Kind::kCounter, "counter_check_writes_total",
             "Writes that were sampled, to have their copies compared.", stats.taken);
  AddReading(readings, Kind::kCounter, "counter_check_writes_dropped_total",
             "Writes that were not sampled for want of room.", stats.dropped);
  AddReading(readings, Kind::kGauge, "counter_check_writes_waiting",
             "Sampled writes that are to be compared once more.", stats.waiting);
  return readings;
}

}  // namespace counter
