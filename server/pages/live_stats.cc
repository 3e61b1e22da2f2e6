#include "server/pages/live_stats.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/task.h"

namespace counter::pages {
namespace {

namespace json = boost::json;

constexpr absl::Duration kWindow = absl::Seconds(10);
constexpr absl::Duration kPauseMax = absl::Seconds(3);
constexpr absl::Duration kProbeTimeout = absl::Seconds(1);
constexpr size_t kTopItems = 10;

std::string LabelOf(const prometheus::ClientMetric& metric, const char* name) {
  for (const auto& label : metric.label) {
    if (label.name == name) return label.value;
  }
  return "";
}

// The upper bound of the bucket in which the share lies, with a straight line inside it; none if
// nothing was counted.
json::value Percentile(const std::map<double, double>& at_most, double share) {
  if (at_most.empty() || at_most.rbegin()->second <= 0) return nullptr;
  const double wanted = share * at_most.rbegin()->second;
  double low = 0;
  double below = 0;
  for (const auto& [bound, count] : at_most) {
    if (count >= wanted && count > below) {
      const double high = std::isfinite(bound) ? bound : low;
      return 1000 * (low + (high - low) * (wanted - below) / (count - below));
    }
    low = bound;
    below = count;
  }
  return 1000 * low;
}

json::value Share(double hits, double misses) {
  if (hits + misses <= 0) return nullptr;
  return hits / (hits + misses);
}

std::string UptimeText(absl::Duration uptime) {
  return absl::FormatDuration(absl::Trunc(uptime, absl::Seconds(1)));
}

json::value Milliseconds(std::optional<absl::Duration> took) {
  if (!took.has_value()) return nullptr;
  return absl::ToDoubleMilliseconds(*took);
}

}  // namespace

struct LiveStats::Probes {
  Mutex mutex;
  bool store_under_way ABSL_GUARDED_BY(mutex) = false;
  bool cache_under_way ABSL_GUARDED_BY(mutex) = false;
  std::optional<absl::Duration> store_latency ABSL_GUARDED_BY(mutex);
  std::optional<absl::Duration> cache_latency ABSL_GUARDED_BY(mutex);
  std::map<Item, int64_t> counts ABSL_GUARDED_BY(mutex);

  static Task<> AskStore(std::shared_ptr<Probes> given, LikeStore& store, const Clock& clock,
                         std::vector<ItemRead> given_items) {
    // In the coroutine's frame for as long as it waits.
    const std::shared_ptr<Probes> probes = std::move(given);
    const std::vector<ItemRead> items = std::move(given_items);
    const MonotonicTime start = clock.MonotonicNow();
    CallLimits limits;
    limits.deadline = start + kProbeTimeout;
    Task<absl::StatusOr<CountsRead>> read = store.Counts(items, Consistency::kStrong, limits);
    const absl::StatusOr<CountsRead> counts = co_await std::move(read);
    const absl::Duration took = Between(start, clock.MonotonicNow());
    MutexLock lock(probes->mutex);
    probes->store_under_way = false;
    probes->store_latency.reset();
    if (!counts.ok()) co_return;
    probes->store_latency = took;
    probes->counts.clear();
    for (size_t i = 0; i < items.size(); ++i) {
      probes->counts[items[i].item] = counts->counts[i].count;
    }
  }

  static Task<> AskCache(std::shared_ptr<Probes> given, RecentLikes& recent_likes,
                         const Clock& clock) {
    const std::shared_ptr<Probes> probes = std::move(given);
    const MonotonicTime start = clock.MonotonicNow();
    Task<std::vector<std::optional<absl::Time>>> find =
        recent_likes.Find(UserId{1}, {Item{ItemType{1}, 1}});
    const std::vector<std::optional<absl::Time>> found = co_await std::move(find);
    MutexLock lock(probes->mutex);
    probes->cache_under_way = false;
    probes->cache_latency.reset();
    if (!found.empty()) probes->cache_latency = Between(start, clock.MonotonicNow());
  }
};

LiveStats::LiveStats(Parts parts)
    : parts_(std::move(parts)),
      started_(parts_.clock.MonotonicNow()),
      probes_(std::make_shared<Probes>()) {}

std::string LiveStats::NameOf(const Item& item) const {
  for (const auto& [name, type] : parts_.item_types) {
    if (type == item.type) return absl::StrCat(name, ":", item.id);
  }
  return absl::StrCat(item.type.value, ":", item.id);
}

LiveStats::Sample LiveStats::Take() const {
  Sample sample;
  sample.time = parts_.clock.MonotonicNow();
  for (const prometheus::MetricFamily& family : parts_.metrics.Gather()) {
    const bool is_grpc = family.name.rfind("grpc_server_", 0) == 0;
    const bool is_http = family.name.rfind("counter_http_request", 0) == 0;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (is_grpc || is_http) {
        const std::string method = is_grpc ? LabelOf(metric, "grpc_method")
                                           : parts_.method_of_route(LabelOf(metric, "route"));
        if (method.empty()) continue;
        Totals& totals = sample.methods[method];
        if (family.type == prometheus::MetricType::Histogram) {
          for (const auto& bucket : metric.histogram.bucket) {
            totals.at_most[bucket.upper_bound] += static_cast<double>(bucket.cumulative_count);
          }
        } else if (family.name != "grpc_server_started_total") {
          const std::string code = LabelOf(metric, is_grpc ? "grpc_code" : "code");
          totals.calls += metric.counter.value;
          if (code != "OK" && code != "200") totals.errors += metric.counter.value;
        }
      } else if (family.name == "counter_cache_lookups_total") {
        const bool is_hit = LabelOf(metric, "result") == "hit";
        double& count = LabelOf(metric, "cache") == "counter"
                            ? (is_hit ? sample.count_hits : sample.count_misses)
                            : (is_hit ? sample.recent_hits : sample.recent_misses);
        count += metric.counter.value;
      } else if (family.name == "counter_calls_in_flight") {
        sample.in_flight = metric.gauge.value;
      } else if (family.name == "counter_write_queue_mutations") {
        sample.write_queue = metric.gauge.value;
      }
    }
  }
  return sample;
}

void LiveStats::StartProbes(const std::vector<HotItems::Hot>& hot) {
  std::vector<ItemRead> items;
  for (const HotItems::Hot& one : hot) items.push_back({one.item, 0});
  if (items.empty()) items.push_back({Item{parts_.item_types.front().second, 1}, 0});
  bool ask_store = false;
  bool ask_cache = false;
  {
    MutexLock lock(probes_->mutex);
    ask_store = !std::exchange(probes_->store_under_way, true);
    ask_cache = !std::exchange(probes_->cache_under_way, true);
  }
  if (ask_store) Spawn(Probes::AskStore(probes_, parts_.store, parts_.clock, std::move(items)));
  if (ask_cache) Spawn(Probes::AskCache(probes_, parts_.recent_likes, parts_.clock));
}

std::string LiveStats::Next() {
  Sample now = Take();
  // After a pause what lies in it is nobody's second.
  if (!samples_.empty() && Between(samples_.back().time, now.time) > kPauseMax) samples_.clear();
  while (!samples_.empty() && Between(samples_.front().time, now.time) > kWindow) {
    samples_.pop_front();
  }
  const Sample& before = samples_.empty() ? now : samples_.back();
  const Sample& oldest = samples_.empty() ? now : samples_.front();
  const double seconds = std::max(absl::ToDoubleSeconds(Between(before.time, now.time)), 0.001);

  const auto line_of = [&](const Totals& later, const Totals& earlier, const Totals& first) {
    std::map<double, double> at_most;
    for (const auto& [bound, count] : later.at_most) {
      const auto found = first.at_most.find(bound);
      at_most[bound] = count - (found == first.at_most.end() ? 0 : found->second);
    }
    return json::object{{"rate", (later.calls - earlier.calls) / seconds},
                        {"errors", (later.errors - earlier.errors) / seconds},
                        {"p50_ms", Percentile(at_most, 0.50)},
                        {"p95_ms", Percentile(at_most, 0.95)},
                        {"p99_ms", Percentile(at_most, 0.99)}};
  };
  const auto sum_of = [](const Sample& sample) {
    Totals sum;
    for (const auto& [name, totals] : sample.methods) {
      sum.calls += totals.calls;
      sum.errors += totals.errors;
      for (const auto& [bound, count] : totals.at_most) sum.at_most[bound] += count;
    }
    return sum;
  };
  const auto at = [](const Sample& sample, const std::string& name) {
    const auto found = sample.methods.find(name);
    return found == sample.methods.end() ? Totals() : found->second;
  };

  json::object out;
  out["version"] = parts_.version;
  out["uptime"] = UptimeText(Between(started_, now.time));
  out["total"] = line_of(sum_of(now), sum_of(before), sum_of(oldest));
  json::array methods;
  for (const auto& [name, totals] : now.methods) {
    if (name == "unknown" && totals.calls == 0) continue;
    json::object line = line_of(totals, at(before, name), at(oldest, name));
    line["name"] = name;
    methods.push_back(std::move(line));
  }
  out["methods"] = std::move(methods);
  out["cache"] = {
      {"counts", Share(now.count_hits - oldest.count_hits, now.count_misses - oldest.count_misses)},
      {"recent_likes",
       Share(now.recent_hits - oldest.recent_hits, now.recent_misses - oldest.recent_misses)}};
  out["calls_in_flight"] = static_cast<int64_t>(now.in_flight);
  out["write_queue"] = static_cast<int64_t>(now.write_queue);

  const std::vector<HotItems::Hot> hot = parts_.hot_items.Top(kTopItems);
  json::array top;
  const std::optional<bool> redis_ok = parts_.redis_ok();
  {
    MutexLock lock(probes_->mutex);
    out["store"] = {{"name", parts_.store_name},
                    {"ok", parts_.store_ok()},
                    {"latency_ms", Milliseconds(probes_->store_latency)}};
    out["redis"] = nullptr;
    if (redis_ok.has_value()) {
      out["redis"] = {{"ok", *redis_ok},
                      {"latency_ms", *redis_ok ? Milliseconds(probes_->cache_latency) : nullptr}};
    }
    for (const HotItems::Hot& one : hot) {
      const auto count = probes_->counts.find(one.item);
      top.push_back(
          {{"item", NameOf(one.item)},
           {"rate", one.writes_per_second},
           {"count", count == probes_->counts.end() ? json::value(nullptr)
                                                    : json::value(absl::StrCat(count->second))}});
    }
  }
  out["top"] = std::move(top);
  samples_.push_back(std::move(now));
  StartProbes(hot);
  return json::serialize(out);
}

}  // namespace counter::pages
