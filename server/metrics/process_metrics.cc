#include "server/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace counter {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void Append(std::vector<MetricFamily>& all, MetricType type, const char* name, const char* help,
            std::optional<double> value) {
  if (!value.has_value()) return;
  MetricFamily& family = all.emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = *value;
}

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::optional<double> NumberAt(const std::vector<absl::string_view>& fields, size_t place) {
  double value = 0;
  if (place >= fields.size() || !absl::SimpleAtod(fields[place], &value)) return std::nullopt;
  return value;
}

std::optional<double> CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

// Fields of /proc/self/statm: 0 is the address space, 1 what is in RAM; both in pages.
std::optional<double> MemoryBytes(size_t field) {
  const std::string text = ReadAll("/proc/self/statm");
  std::optional<double> pages = NumberAt(absl::StrSplit(text, ' '), field);
  if (pages.has_value()) *pages *= static_cast<double>(sysconf(_SC_PAGESIZE));
  return pages;
}

std::optional<double> OpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return std::nullopt;
  int entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - 3;  // ".", ".." and the folder itself.
}

std::optional<double> FilesMax() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

// The process's start after the machine's, in ticks, and when that was.
std::optional<double> StartSeconds() {
  const std::string stat = ReadAll("/proc/self/stat");
  // The name of the program stands in parentheses and may hold anything.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  constexpr size_t kStartTime = 20;  // Field 22 of proc(5), counted from the one after the name.
  const std::optional<double> ticks =
      NumberAt(absl::StrSplit(absl::string_view(stat).substr(name_end + 1), ' '), kStartTime);
  if (!ticks.has_value()) return std::nullopt;
  const std::string machine = ReadAll("/proc/stat");
  for (absl::string_view line : absl::StrSplit(machine, '\n')) {
    double boot = 0;
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &boot))
      return boot + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return std::nullopt;
}

}  // namespace

void AppendProcessMetrics(std::vector<MetricFamily>& all) {
  Append(all, MetricType::Counter, "process_cpu_seconds_total",
         "Processor time of this process, of user and system.", CpuSeconds());
  Append(all, MetricType::Gauge, "process_resident_memory_bytes",
         "Memory of this process that is in RAM.", MemoryBytes(1));
  Append(all, MetricType::Gauge, "process_virtual_memory_bytes", "Address space of this process.",
         MemoryBytes(0));
  Append(all, MetricType::Gauge, "process_open_fds", "File descriptors that are open.",
         OpenFiles());
  Append(all, MetricType::Gauge, "process_max_fds", "File descriptors that may be open.",
         FilesMax());
  Append(all, MetricType::Gauge, "process_start_time_seconds",
         "When this process started, in seconds since 1970.", StartSeconds());
  Append(all, MetricType::Gauge, "counter_clock_seconds",
         "This machine's clock, in seconds since 1970.",
         absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
}

}  // namespace counter
