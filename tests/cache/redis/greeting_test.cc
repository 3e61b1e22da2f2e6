// The greeting as a dialogue that goes wrong at each step; and the URL that it is made of.
#include "cache/redis/greeting.h"

#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "cache/redis/redis_url.h"
#include "cache/redis/scripts.h"
#include "tests/cache/redis/scripted_channel.h"
#include "tests/support/test_settings.h"

namespace counter::redis::testing {
namespace {

using counter::testing::TestSeed;

const Login kLogin{"counter", "s3cret", 2};

std::vector<Reply> GoodReplies() {
  std::vector<Reply> replies = {Status("OK"), Status("OK"), Integer(0)};
  for (const Script* script : AllScripts()) replies.push_back(Text(script->digest()));
  replies.push_back(Text(
      "# "
      "Server\r\nredis_version:7.0.15\r\nrun_id:0123abcd\r\ntcp_port:1\r\nuptime_in_seconds:41\r\n"
      "master_replid:ef\r\n"));
  return replies;
}

TEST_CASE(
    "greeting: it logs in, chooses the database, tries a write, loads scripts, asks the run") {
  const auto commands = Words(GreetingCommands(kLogin, ProbedKey()).bytes());
  REQUIRE(commands.size() == GoodReplies().size());
  CHECK(commands[0] == std::vector<std::string>{"AUTH", "counter", "s3cret"});
  CHECK(commands[1] == std::vector<std::string>{"SELECT", "2"});
  CHECK(commands[2] == std::vector<std::string>{"DEL", ProbedKey()});
  CHECK(commands[3][0] == "SCRIPT");
  CHECK(commands.back() == std::vector<std::string>{"INFO", "server", "replication", "cluster"});
  CHECK(Words(GreetingCommands({"", "s3cret", 0}, ProbedKey()).bytes())[0] ==
        std::vector<std::string>{"AUTH", "s3cret"});
  CHECK(Words(GreetingCommands({}, ProbedKey()).bytes())[0][0] == "DEL");
}

TEST_CASE("greeting: when all is well it says which run of the server this is") {
  const auto greeting = ReadGreeting(kLogin, GoodReplies());
  REQUIRE(greeting.ok());
  CHECK(greeting->run_id == "0123abcd/ef");
  CHECK(greeting->up_for == absl::Seconds(42));
}

TEST_CASE("greeting: an error at any step but the last means that the server cannot be used") {
  for (size_t step = 0; step + 1 < GoodReplies().size(); ++step) {
    std::vector<Reply> replies = GoodReplies();
    replies[step] = Error("READONLY said s3cret");
    INFO("step " << step);
    const auto greeting = ReadGreeting(kLogin, replies);
    REQUIRE_FALSE(greeting.ok());
    CHECK(absl::StrContains(greeting.status().message(), "READONLY"));
    CHECK_FALSE(absl::StrContains(greeting.status().message(), "s3cret"));
  }
}

TEST_CASE("greeting: an answer of another kind at any step but the last is no consent") {
  for (size_t step = 0; step + 1 < GoodReplies().size(); ++step) {
    std::vector<Reply> replies = GoodReplies();
    replies[step] = Nil();
    INFO("step " << step);
    CHECK_FALSE(ReadGreeting(kLogin, replies).ok());
  }
  std::vector<Reply> replies = GoodReplies();
  replies.pop_back();
  CHECK_FALSE(ReadGreeting(kLogin, replies).ok());
}

TEST_CASE("greeting: a server that does not say which run it is can be used") {
  std::vector<Reply> replies = GoodReplies();
  SECTION("because it may not") { replies.back() = Error("NOPERM"); }
  SECTION("because it does not know") { replies.back() = Text("# Server\r\n"); }
  const auto greeting = ReadGreeting(kLogin, replies);
  REQUIRE(greeting.ok());
  CHECK(greeting->run_id.empty());
  CHECK(greeting->up_for == absl::InfiniteDuration());
}

TEST_CASE("greeting: a node of a cluster is known by INFO, or by sending a write on") {
  CHECK_FALSE(ReadGreeting(kLogin, GoodReplies())->is_of_cluster);
  std::vector<Reply> replies = GoodReplies();
  SECTION("it says so") { replies.back().text += "# Cluster\r\ncluster_enabled:1\r\n"; }
  SECTION("it owns another slot, and INFO is forbidden") {
    replies[2] = Error("MOVED 15495 127.0.0.1:7002");
    replies.back() = Error("NOPERM");
  }
  SECTION("the cluster is down") { replies[2] = Error("CLUSTERDOWN The cluster is down"); }
  const auto greeting = ReadGreeting(kLogin, replies);
  REQUIRE(greeting.ok());
  CHECK(greeting->is_of_cluster);
  replies.back() = Text("# Cluster\r\ncluster_enabled:0\r\n");
  replies[2] = Integer(0);
  CHECK_FALSE(ReadGreeting(kLogin, replies)->is_of_cluster);
}

TEST_CASE("greeting: what says that a server cannot serve us is told from other errors") {
  CHECK(SaysUnusable(Error("READONLY You can't write against a read only replica.")));
  CHECK(SaysUnusable(Error("LOADING Redis is loading the dataset in memory")));
  CHECK(SaysUnusable(Error("MISCONF Redis is configured to save RDB snapshots")));
  CHECK(SaysUnusable(Error("NOREPLICAS Not enough good replicas to write.")));
  CHECK(SaysUnusable(Error("NOAUTH Authentication required.")));
  CHECK_FALSE(SaysUnusable(Error("OOM command not allowed when used memory > 'maxmemory'.")));
  CHECK_FALSE(SaysUnusable(Error("NOSCRIPT No matching script.")));
  CHECK_FALSE(SaysUnusable(Text("READONLY")));
}

TEST_CASE("greeting: of any slots there is a key of ours that is written to no purpose") {
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 20; ++i) {
    SlotSet slots;
    const size_t slot = random() % kSlots;
    slots.set(slot);
    CHECK(SlotOf(ProbedKeyIn(slots)) == static_cast<int>(slot));
  }
  CHECK(ProbedKeyIn({}).empty());
}

TEST_CASE("redis url: its parts are read") {
  const auto all = ParseRedisUrl("rediss://us%3Aer:p%40ss:w@cache.example:6380/3");
  REQUIRE(all.ok());
  CHECK(all->tls);
  CHECK(all->login.user == "us:er");
  CHECK(all->login.password == "p@ss:w");
  CHECK(all->host == "cache.example");
  CHECK(all->port == 6380);
  CHECK(all->login.database == 3);
  const auto least = ParseRedisUrl("redis://localhost");
  REQUIRE(least.ok());
  CHECK_FALSE(least->tls);
  CHECK(least->port == 6379);
  CHECK(least->login.database == 0);
  const auto v6 = ParseRedisUrl("redis://:pw@[::1]:7000/");
  REQUIRE(v6.ok());
  CHECK(v6->host == "::1");
  CHECK(v6->port == 7000);
  CHECK(v6->login.user.empty());
}

TEST_CASE("redis url: several hosts are nodes of one cluster") {
  const auto cluster = ParseRedisUrl("redis://u:p@h1:7000,[::1]:7001,h3");
  REQUIRE(cluster.ok());
  CHECK(cluster->host == "h1");
  CHECK(cluster->port == 7000);
  CHECK(cluster->login.user == "u");
  CHECK(cluster->others == std::vector<Node>{{"::1", 7001}, {"h3", 6379}});
  std::string many = "redis://h";
  for (int i = 0; i < 32; ++i) many += ",h";
  for (const std::string& wrong :
       {std::string("redis://h1,"), std::string("redis://,h1"), std::string("redis://h1,h2:0"),
        std::string("redis://h1,h2/1"), many}) {
    CAPTURE(wrong);
    CHECK_FALSE(ParseRedisUrl(wrong).ok());
  }
}

TEST_CASE("redis url: what is wrong is refused, and no secret is repeated") {
  for (const char* url :
       {"", "http://h", "redis://", "redis://s3cret@h", "redis://u:s3cret@", "redis://u:@h",
        "redis://u:s3cret%@h", "redis://u:s3cret@h:0", "redis://u:s3cret@h:65536",
        "redis://u:s3cret@h:x", "redis://u:s3cret@h:", "redis://u:s3cret@h/x",
        "redis://u:s3cret@h/-1", "redis://u:s3cret@[::1", "redis://u:s3cret@[::1]x"}) {
    INFO(url);
    const auto address = ParseRedisUrl(url);
    REQUIRE_FALSE(address.ok());
    CHECK_FALSE(absl::StrContains(address.status().message(), "s3cret"));
  }
}

}  // namespace
}  // namespace counter::redis::testing
