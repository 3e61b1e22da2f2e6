#include "tests/support/metrics_text.h"

#include <algorithm>
#include <cctype>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace counter::testing {
namespace {

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':';
}

// Takes a metric's or label's name from the front; empty if there is none.
std::string TakeName(absl::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), IsNameCharacter);
  const size_t length = static_cast<size_t>(end - text.begin());
  std::string name(text.substr(0, length));
  text.remove_prefix(length);
  return name;
}

// Takes `"..."` with its escapes from the front; absent if it is not closed.
std::optional<std::string> TakeQuoted(absl::string_view& text) {
  if (!absl::ConsumePrefix(&text, "\"")) return std::nullopt;
  std::string value;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value.push_back(c);
      continue;
    }
    if (text.empty()) return std::nullopt;
    value.push_back(text.front() == 'n' ? '\n' : text.front());
    text.remove_prefix(1);
  }
  return std::nullopt;
}

// Takes `{a="b",c="d"}` from the front, if it is there. False if it is malformed.
bool TakeLabels(absl::string_view& text, MetricsText::Labels& labels) {
  if (!absl::ConsumePrefix(&text, "{")) return true;
  while (!absl::ConsumePrefix(&text, "}")) {
    const std::string name = TakeName(text);
    if (name.empty() || !absl::ConsumePrefix(&text, "=")) return false;
    std::optional<std::string> value = TakeQuoted(text);
    if (!value.has_value()) return false;
    labels[name] = *std::move(value);
    if (!absl::ConsumePrefix(&text, ",") && !absl::StartsWith(text, "}")) return false;
  }
  return true;
}

bool ParseSample(absl::string_view line, MetricsText::Sample& sample) {
  sample.name = TakeName(line);
  if (sample.name.empty() || !TakeLabels(line, sample.labels)) return false;
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  // The value, and perhaps a timestamp. SimpleAtod reads "+Inf" and "NaN" too.
  return !words.empty() && words.size() <= 2 && absl::SimpleAtod(words[0], &sample.value);
}

bool Carries(const MetricsText::Labels& labels, const MetricsText::Labels& wanted) {
  return std::includes(labels.begin(), labels.end(), wanted.begin(), wanted.end());
}

}  // namespace

absl::StatusOr<MetricsText> MetricsText::Parse(absl::string_view text) {
  MetricsText metrics;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    Sample sample;
    if (!ParseSample(line, sample))
      return absl::InvalidArgumentError(absl::StrCat("not a sample: ", line));
    metrics.samples_.push_back(std::move(sample));
  }
  return metrics;
}

std::optional<double> MetricsText::Value(absl::string_view name, const Labels& labels) const {
  for (const Sample& sample : samples_) {
    if (sample.name == name && sample.labels == labels) return sample.value;
  }
  return std::nullopt;
}

double MetricsText::Sum(absl::string_view name, const Labels& labels) const {
  double sum = 0;
  for (const Sample& sample : samples_) {
    if (sample.name == name && Carries(sample.labels, labels)) sum += sample.value;
  }
  return sum;
}

bool MetricsText::Has(absl::string_view name) const {
  return std::any_of(samples_.begin(), samples_.end(),
                     [name](const Sample& sample) { return sample.name == name; });
}

}  // namespace counter::testing
