// The greeting as a dialogue that goes wrong at each step; and the URL that it is made of.
#include "cache/redis/greeting.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "absl/strings/match.h"
#include "cache/redis/redis_url.h"
#include "cache/redis/scripts.h"
#include "tests/cache/redis/scripted_channel.h"

namespace counter::redis::testing {
namespace {

const Login kLogin{"counter", "s3cret", 2};

std::vector<Reply> GoodReplies() {
  std::vector<Reply> replies = {Status("OK"), Status("OK"), Integer(0)};
  for (const Script* script : AllScripts()) replies.push_back(Text(script->digest()));
  replies.push_back(Text(
      "# Server\r\nredis_version:7.0.15\r\nrun_id:0123abcd\r\ntcp_port:1\r\nmaster_replid:ef\r\n"));
  return replies;
}

TEST_CASE(
    "greeting: it logs in, chooses the database, tries a write, loads scripts, asks the run") {
  const auto commands = Words(GreetingCommands(kLogin).bytes());
  REQUIRE(commands.size() == GoodReplies().size());
  CHECK(commands[0] == std::vector<std::string>{"AUTH", "counter", "s3cret"});
  CHECK(commands[1] == std::vector<std::string>{"SELECT", "2"});
  CHECK(commands[2][0] == "DEL");
  CHECK(commands[3][0] == "SCRIPT");
  CHECK(commands.back() == std::vector<std::string>{"INFO", "server", "replication"});
  CHECK(Words(GreetingCommands({"", "s3cret", 0}).bytes())[0] ==
        std::vector<std::string>{"AUTH", "s3cret"});
  CHECK(Words(GreetingCommands({}).bytes())[0][0] == "DEL");
}

TEST_CASE("greeting: when all is well it says which run of the server this is") {
  const auto greeting = ReadGreeting(kLogin, GoodReplies());
  REQUIRE(greeting.ok());
  CHECK(greeting->run_id == "0123abcd/ef");
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
