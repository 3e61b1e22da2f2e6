#include "server/pages/live_stats.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "base/clock.h"
#include "cache/local/local_recent_likes.h"
#include "server/hot_items.h"
#include "server/metrics/metrics.h"
#include "server/testing/model_store.h"

namespace counter::pages {
namespace {

namespace json = boost::json;

const std::string kLike = "/counter.v1.CounterService/Like";

struct Setup {
  json::object Next() { return json::parse(stats.Next()).as_object(); }

  void Calls(int count, int code, absl::Duration took) {
    for (int i = 0; i < count; ++i) metrics.ForMethod(kLike).Handled(code, took);
  }

  ManualClock clock;
  Metrics metrics{{kLike}, "1.2.3"};
  HotItems hot_items{clock};
  ModelStore store{clock};
  LocalRecentLikes recent_likes{clock, {}};
  std::optional<bool> redis_ok;
  LiveStats stats{{metrics,
                   hot_items,
                   store,
                   recent_likes,
                   clock,
                   {{"post", ItemType{1}}},
                   "1.2.3",
                   "PostgreSQL",
                   [this] { return store.Health().ok(); },
                   [this] { return redis_ok; },
                   [](const std::string&) { return std::string(); }}};
};

const json::object& MethodOf(const json::object& line, const std::string& name) {
  for (const json::value& method : line.at("methods").as_array()) {
    if (method.at("name") == json::string(name)) return method.as_object();
  }
  FAIL("no method " << name);
  return line;
}

TEST_CASE("rates are of the last second, percentiles of the last ten") {
  Setup setup;
  setup.Calls(1000, 0, absl::Milliseconds(1));  // Before anybody looked.
  const json::object first = setup.Next();
  CHECK(first.at("total").at("rate") == 0.0);
  CHECK(first.at("total").at("p99_ms").is_null());
  setup.clock.Advance(absl::Seconds(1));
  setup.Calls(98, 0, absl::Milliseconds(2));
  setup.Calls(2, 14, absl::Milliseconds(200));
  json::object line = setup.Next();
  CHECK(line.at("version") == "1.2.3");
  const json::object& like = MethodOf(line, "Like");
  CHECK(like.at("rate").as_double() == Approx(100));
  CHECK(like.at("errors").as_double() == Approx(2));
  CHECK(like.at("p50_ms").as_double() > 1);
  CHECK(like.at("p50_ms").as_double() <= 2.5);
  CHECK(like.at("p99_ms").as_double() > 100);
  CHECK(like.at("p99_ms").as_double() <= 250);
  setup.clock.Advance(absl::Seconds(1));
  line = setup.Next();
  CHECK(line.at("total").at("rate") == 0.0);
  CHECK(line.at("total").at("p99_ms").as_double() > 100);
  for (int i = 0; i < 11; ++i) {
    setup.clock.Advance(absl::Seconds(1));
    line = setup.Next();
  }
  CHECK(line.at("total").at("p99_ms").is_null());
}

TEST_CASE("after a pause nothing of it is shown as a rate") {
  Setup setup;
  setup.Next();
  setup.clock.Advance(absl::Minutes(10));
  setup.Calls(60'000, 0, absl::Milliseconds(1));
  CHECK(setup.Next().at("total").at("rate") == 0.0);
}

TEST_CASE("the hottest items come first, with counts that were read from the store") {
  Setup setup;
  const Item hot = {ItemType{1}, 9223372036854775807};
  const Item warm = {ItemType{1}, 2};
  setup.Next();
  for (int i = 0; i < 50; ++i) setup.hot_items.Wrote(hot);
  for (int i = 0; i < 5; ++i) setup.hot_items.Wrote(warm);
  (void)BlockingWait(setup.store.Apply({{UserId{1}, hot, Action::kLike}}, {}));
  setup.clock.Advance(absl::Seconds(1));
  CHECK(setup.Next().at("top").at(0).at("count").is_null());
  setup.clock.Advance(absl::Seconds(1));
  const json::object line = setup.Next();
  const json::array& top = line.at("top").as_array();
  REQUIRE(top.size() == 2);
  CHECK(top[0].at("item") == "post:9223372036854775807");
  CHECK(top[0].at("count") == "1");
  CHECK(top[1].at("item") == "post:2");
  CHECK(top[1].at("count") == "0");
}

TEST_CASE("the store and Redis are shown as they are, and no latency of one that is gone") {
  Setup setup;
  CHECK(setup.Next().at("redis").is_null());
  json::object line = setup.Next();
  CHECK(line.at("store").at("name") == "PostgreSQL");
  CHECK(line.at("store").at("ok") == true);
  CHECK(line.at("store").at("latency_ms").is_number());
  setup.redis_ok = true;
  CHECK(setup.Next().at("redis").at("latency_ms").is_number());
  setup.redis_ok = false;
  line = setup.Next();
  CHECK(line.at("redis").at("ok") == false);
  CHECK(line.at("redis").at("latency_ms").is_null());
}

TEST_CASE("hot items forget what was hot long ago, and hold a fixed number") {
  ManualClock clock;
  HotItems hot(clock);
  for (int64_t id = 1; id <= 100'000; ++id) {
    hot.Wrote({ItemType{1}, id});
    hot.Wrote({ItemType{1}, 7});
  }
  std::vector<HotItems::Hot> top = hot.Top(10'000);
  CHECK(top.size() == HotItems::kItemsMax);
  CHECK(top[0].item.id == 7);
  clock.Advance(absl::Minutes(10));
  CHECK(hot.Top(10).empty());
}

}  // namespace
}  // namespace counter::pages
