#include "tests/integration/full_stack_counted.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "absl/time/clock.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

Counted CountedBy(FullStack& stack) {
  Counted counted;
  for (int i = 0; i < FullStack::kServers; ++i) {
    const auto metrics = stack.server(i).Metrics();
    REQUIRE(metrics.ok());
    const auto lookups = [&](const char* result) {
      return metrics->Sum("counter_cache_lookups_total",
                          {{"cache", "counter"}, {"result", result}});
    };
    counted.hits += lookups("hit");
    counted.misses += lookups("miss");
    for (const char* method : {"BatchGetCounts", "HasLiked", "Like", "Unlike", "WriteLikes"}) {
      counted.calls +=
          metrics->Sum("grpc_server_handling_seconds_count", {{"grpc_method", method}});
    }
    counted.timeouts += metrics->Sum("counter_redis_requests_total", {{"result", "timed_out"}});
    counted.map_refreshes =
        std::max(counted.map_refreshes, metrics->Sum("counter_redis_map_refreshes_total", {}));
    counted.redirects += metrics->Sum("counter_redis_redirects_total", {});
    counted.given_up += metrics->Sum("counter_redis_redirects_total", {{"kind", "given_up"}});
  }
  return counted;
}

double HitRatio(const Counted& from, const Counted& to) {
  const double hits = to.hits - from.hits;
  return Share(hits, hits + to.misses - from.misses);
}

double TimeoutsACall(const Counted& from, const Counted& to) {
  return Share(to.timeouts - from.timeouts, to.calls - from.calls);
}

bool HitsAreBack(FullStack& stack, double usual_ratio) {
  constexpr absl::Duration kWithin = absl::Seconds(10);
  return Eventually(kWithin * Slowness(), [&] {
    const Counted from = CountedBy(stack);
    absl::SleepFor(absl::Milliseconds(300));
    return HitRatio(from, CountedBy(stack)) >= 0.95 * usual_ratio;
  });
}

}  // namespace counter::testing
