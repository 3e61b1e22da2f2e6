// Whether all layers say the same of a count, over a primary, a replica, Redis and two servers:
// asked by `counterctl check`, and found in the background; with a wrong value planted in each.
#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/admin_client.h"
#include "tests/integration/replicated_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr char kChecked[] = "counter_check_copies_total";

Settings WithCheck(const Settings& more = {}) {
  Settings settings = more;
  settings.insert({{"ADMIN_LISTEN", "127.0.0.1:0"}, {"NEAR_CACHE_MILLISECONDS", "600"}});
  return settings;
}

// One for all cases that plant something wrong: each has a post of its own.
ReplicatedStack& SharedStack() {
  static ReplicatedStack stack(WithCheck());
  return stack;
}

std::string NameOf(int64_t post) { return absl::StrCat("post:", post); }
std::string KeyOf(int64_t post) { return absl::StrCat("counter:post:", post); }

cli::Ran RunCheck(const CounterServer& server, std::vector<std::string> args) {
  args.insert(args.begin(), {"check", "--admin-server", AdminTarget(server), "-o", "json"});
  return cli::RunWith(args);
}

// The result of each layer: {"redis", "diverged"}.
using Results = std::map<std::string, std::string>;

Results ResultsOf(const cli::Ran& ran) {
  Results results;
  INFO(ran.out << ran.err);
  const boost::json::value rows = boost::json::parse(ran.out);
  for (const boost::json::value& row : rows.as_array())
    results[std::string(row.at("layer").as_string())] = std::string(row.at("result").as_string());
  return results;
}

// What every layer says of the post is asked for, until it is so.
bool ComesToSay(const CounterServer& server, int64_t post, const Results& expected) {
  return Eventually(kPatience * Slowness(), [&] {
    const cli::Ran ran = RunCheck(server, {NameOf(post), "--wait", "0s"});
    if (ran.status != 0 && ran.status != 1) return false;
    const Results results = ResultsOf(ran);
    return std::all_of(expected.begin(), expected.end(), [&](const auto& one) {
      const auto found = results.find(one.first);
      return found != results.end() && found->second == one.second;
    });
  });
}

const Results kAllEqual = {
    {"redis", "equal"}, {"replica 1", "equal"}, {"primary", "equal"}, {"recount", "equal"}};

// "count@version@read_at" with another count.
std::string WithCount(const std::string& value, int64_t count) {
  return absl::StrCat(count, value.substr(value.find('@')));
}

// Four likes of the post, which all layers know: it is in Redis since before the first.
void LikePost(ReplicatedStack& stack, int64_t post) {
  REQUIRE(stack.client(0).Count(Post(post)).ok());
  for (int64_t user = 1; user <= 4; ++user) REQUIRE(stack.client(0).Like(user, Post(post)).ok());
  REQUIRE(ComesToSay(stack.server(0), post, kAllEqual));
}

TEST_CASE("a check tells what each layer says of a count, and that all say the same") {
  ReplicatedStack& stack = SharedStack();
  LikePost(stack, 1);
  const cli::Ran ran = RunCheck(stack.server(0), {"post:1"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == 0);
  const boost::json::value parsed = boost::json::parse(ran.out);
  const boost::json::array& rows = parsed.as_array();
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].at("layer") == "near");
  for (const boost::json::value& row : rows) {
    CHECK(row.at("item") == "post:1");
    if (row.at("result") == "equal") CHECK(row.at("count") == 4);
  }
  CHECK(rows[3].at("version") == rows[1].at("version"));
  CHECK(rows[3].at("digest") == rows[4].at("digest"));
  // What nobody has liked is equal, too, and looking has left nothing in Redis.
  const cli::Ran unknown = RunCheck(stack.server(0), {"post:99"});
  CHECK(unknown.status == 0);
  CHECK(ResultsOf(unknown)["redis"] == "absent");
  CHECK(ResultsOf(unknown)["primary"] == "equal");
  CHECK(stack.Redis({"EXISTS", "counter:post:99"}) == "0");
  CHECK(RunCheck(stack.server(0), {"nonsense:1"}).status == 67);
}

TEST_CASE("a wrong count planted in Redis is seen there, with the versions") {
  ReplicatedStack& stack = SharedStack();
  LikePost(stack, 2);
  stack.Redis({"SET", KeyOf(2), WithCount(stack.Redis({"GET", KeyOf(2)}), 41)});
  for (int i = 0; i < ReplicatedStack::kServers; ++i) {
    const cli::Ran ran = RunCheck(stack.server(i), {"post:2"});
    INFO(ran.out << ran.err);
    CHECK(ran.status == 1);
    const Results results = ResultsOf(ran);
    CHECK(results.at("redis") == "diverged");
    CHECK(results.at("replica 1") == "equal");
    CHECK(results.at("primary") == "equal");
    CHECK(results.at("recount") == "equal");
    CHECK(absl::StrContains(ran.err, "post:2 diverges"));
    CHECK(absl::StrContains(ran.err, "redis diverged: count 41, version "));
  }
  // The next write has a newer version, and mends it.
  REQUIRE(stack.client(0).Like(5, Post(2)).ok());
  CHECK(ComesToSay(stack.server(1), 2, kAllEqual));
}

TEST_CASE("a wrong count in a server's own memory is seen there, and not in the other server's") {
  ReplicatedStack& stack = SharedStack();
  LikePost(stack, 3);
  const std::string right = stack.Redis({"GET", KeyOf(3)});
  // It comes from Redis, which is put right again before anybody looks.
  CHECK(Eventually(kPatience * Slowness(), [&] {
    stack.Redis({"SET", KeyOf(3), WithCount(right, 41)});
    const bool has_come = Eventually(
        kPatience, [&] { return stack.client(0).Count(Post(3)).value().count.count == 41; });
    stack.Redis({"SET", KeyOf(3), right});
    const Results results = ResultsOf(RunCheck(stack.server(0), {"post:3", "--wait", "0s"}));
    return has_come && results.at("near") == "diverged" && results.at("redis") == "equal";
  }));
  CHECK(ResultsOf(RunCheck(stack.server(1), {"post:3"})).at("near") != "diverged");
}

TEST_CASE("a counter changed by SQL is seen at the primary, and Redis is held against the likes") {
  ReplicatedStack& stack = SharedStack();
  LikePost(stack, 4);
  const Results wrong_row = {{"redis", "equal"},
                             {"replica 1", "diverged"},
                             {"primary", "diverged"},
                             {"recount", "diverged"}};
  PostgresServer& primary = stack.postgres.primary();
  stack.postgres.Sql(primary, "UPDATE counters SET count = 41 WHERE item_id = 4");
  CHECK(ComesToSay(stack.server(0), 4, wrong_row));
  CHECK(RunCheck(stack.server(0), {"post:4"}).status == 1);
  stack.postgres.Sql(primary,
                     "UPDATE counters SET count = 4, digest = digest + 1 WHERE item_id = 4");
  CHECK(ComesToSay(stack.server(0), 4, wrong_row));
  CHECK(RunAdmin(stack.server(0), {"repair"}).status == 0);
  CHECK(ComesToSay(stack.server(0), 4, kAllEqual));
}

TEST_CASE("a like taken away by SQL is seen by the recount") {
  ReplicatedStack& stack = SharedStack();
  LikePost(stack, 5);
  stack.postgres.Sql(stack.postgres.primary(),
                     "DELETE FROM user_likes WHERE item_id = 5 AND user_id = 2");
  const cli::Ran ran = RunCheck(stack.server(0), {"post:5"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == 1);
  CHECK(ResultsOf(ran)["recount"] == "diverged");
  CHECK(absl::StrContains(ran.err, "recount diverged: count 3, version "));
}

TEST_CASE("a replica that has another row diverges, and one that stands still is behind") {
  ReplicatedStack& stack = SharedStack();
  PostgresServer& primary = stack.postgres.primary();
  PostgresServer& standby = stack.postgres.standby();
  LikePost(stack, 6);
  // It replays a wrong count, and not that this was put right.
  stack.postgres.Sql(primary, "UPDATE counters SET count = 41 WHERE item_id = 6");
  REQUIRE(standby.CatchesUpWith(primary, kPatience));
  stack.postgres.Sql(standby, "SELECT pg_wal_replay_pause()");
  REQUIRE(Eventually(kPatience, [&] {
    return stack.postgres.Sql(standby, "SELECT pg_get_wal_replay_pause_state()") == "paused";
  }));
  stack.postgres.Sql(primary, "UPDATE counters SET count = 4 WHERE item_id = 6");
  CHECK(ComesToSay(
      stack.server(0), 6,
      {{"redis", "equal"}, {"replica 1", "diverged"}, {"primary", "equal"}, {"recount", "equal"}}));
  REQUIRE(stack.client(0).Like(5, Post(6)).ok());
  CHECK(ComesToSay(stack.server(0), 6, {{"replica 1", "behind"}, {"primary", "equal"}}));
  CHECK(RunCheck(stack.server(0), {"post:6", "--wait", "0s"}).status == 0);
  stack.postgres.Sql(standby, "SELECT pg_wal_replay_resume()");
  CHECK(ComesToSay(stack.server(0), 6, kAllEqual));
}

// How many copies of sampled writes had the result.
double Found(const CounterServer& server, const std::string& layer, const std::string& result) {
  return MetricOf(server, kChecked, {{"layer", layer}, {"result", result}});
}

TEST_CASE(
    "sampled writes hold in each layer under load, and a wrong count is then found, counted, "
    "logged with its versions, and remembered") {
  ReplicatedStack stack(WithCheck({{"CHECK_WRITES_PER_SECOND", "100"}}));
  // In Redis since before the first like, or the servers' own memory answers.
  for (int64_t post = 1; post <= 7; ++post) REQUIRE(stack.client(0).Count(Post(post)).ok());
  const absl::Time end = absl::Now() + Sized(absl::Seconds(2), absl::Minutes(2));
  for (int64_t user = 0; absl::Now() < end || user < 200; ++user) {
    const Client& client = stack.client(static_cast<int>(user % 2));
    REQUIRE(client.Like(user + 1, Post(1 + user % 7)).ok());
    if (user % 3 == 0) REQUIRE(client.Unlike(user + 1, Post(1 + user % 7)).ok());
    if (user % 5 == 0) REQUIRE(client.Count(Post(1 + user % 7)).ok());
  }
  for (int i = 0; i < ReplicatedStack::kServers; ++i) {
    for (const char* layer : {"redis", "replica", "primary", "recount"}) {
      CAPTURE(i, layer);
      CHECK(Eventually(kPatience * Slowness(),
                       [&] { return Found(stack.server(i), layer, "equal") > 0; }));
      CHECK(Found(stack.server(i), layer, "diverged") == 0);
    }
    CHECK(Found(stack.server(i), "primary", "behind") == 0);
    const cli::Ran sound = RunCheck(stack.server(i), {});
    INFO(sound.out << sound.err);
    CHECK(sound.status == 0);
    CHECK(absl::StrContains(sound.err, "redis after 100ms: "));
  }

  CounterServer& server = stack.server(0);
  LikePost(stack, 8);
  stack.Redis({"SET", KeyOf(8), WithCount(stack.Redis({"GET", KeyOf(8)}), 41)});
  CHECK(Eventually(kPatience * Slowness(), [&] { return Found(server, "redis", "diverged") > 0; }));
  CHECK(Found(server, "primary", "diverged") == 0);
  CHECK(absl::StrContains(server.Log(), "redis diverged: count 41, version "));
  // It stays known when all is well again.
  REQUIRE(stack.client(0).Like(5, Post(8)).ok());
  const cli::Ran ran = RunCheck(server, {});
  INFO(ran.out << ran.err);
  CHECK(ran.status == 1);
  CHECK(absl::StrContains(ran.err, "post:8 diverges, first of the samples, at "));
  CHECK(absl::StrContains(ran.err, "redis diverged: count 41, version "));
}

}  // namespace
}  // namespace counter::testing
