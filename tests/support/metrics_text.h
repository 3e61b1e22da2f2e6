// MetricsText: what a scrape of /metrics says, for tests to ask.
//
// Reads the Prometheus text format (samples; comments and timestamps are skipped). A value: copy
// it, compare two of them; const methods are thread-safe.
#ifndef COUNTER_TESTS_SUPPORT_METRICS_TEXT_H_
#define COUNTER_TESTS_SUPPORT_METRICS_TEXT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter::testing {

class MetricsText {
 public:
  using Labels = std::map<std::string, std::string>;
  struct Sample {
    std::string name;
    Labels labels;
    double value = 0;
  };

  // An error names the first line that is not in the format.
  static absl::StatusOr<MetricsText> Parse(absl::string_view text);

  // The sample with exactly these labels; absent if there is none.
  std::optional<double> Value(absl::string_view name, const Labels& labels = {}) const;
  // The sum over all samples of the name that carry at least these labels; 0 if there are none.
  double Sum(absl::string_view name, const Labels& labels = {}) const;
  // Whether any sample has the name.
  bool Has(absl::string_view name) const;

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  std::vector<Sample> samples_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_METRICS_TEXT_H_
