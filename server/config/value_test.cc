#include "server/config/value.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/config/load.h"
#include "server/config/setting.h"

namespace counter {
namespace {

bool Accepts(absl::string_view name, absl::string_view text) {
  Config config = DefaultConfig();
  return !ParseValue(*FindSetting(name), text, config).has_value();
}

bool IsNumber(const Setting& setting) {
  return std::holds_alternative<int Config::*>(setting.field) ||
         std::holds_alternative<absl::Duration Config::*>(setting.field);
}

TEST_CASE("every default is accepted by its own setting") {
  for (const Setting& setting : Settings()) {
    CAPTURE(std::string(setting.name));
    CHECK(Accepts(setting.name, setting.default_text));
  }
}

TEST_CASE("every row of the table says what a reader needs, once") {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) {
    CAPTURE(std::string(setting.name));
    CHECK_FALSE(setting.group.empty());
    CHECK(absl::EndsWith(setting.help, "."));
    CHECK_FALSE(setting.expected().empty());
    CHECK(IsNumber(setting) == !setting.unit.empty());
    CHECK(IsNumber(setting) == (setting.min < setting.max));
    CHECK(std::find(names.begin(), names.end(), setting.name) == names.end());
    CHECK(FindSetting(setting.name) == &setting);
    names.emplace_back(setting.name);
  }
  CHECK(FindSetting("NONE") == nullptr);
}

TEST_CASE("every number takes the ends of its range and nothing beyond or beside") {
  for (const Setting& setting : Settings()) {
    if (!IsNumber(setting)) continue;
    CAPTURE(std::string(setting.name));
    CHECK(Accepts(setting.name, absl::StrCat(setting.min)));
    CHECK(Accepts(setting.name, absl::StrCat(setting.max)));
    CHECK(Accepts(setting.name, absl::StrCat("00", setting.max)));
    CHECK_FALSE(Accepts(setting.name, absl::StrCat(setting.min - 1)));
    CHECK_FALSE(Accepts(setting.name, absl::StrCat(setting.max + 1)));
    const absl::string_view bad[] = {"",
                                     " ",
                                     "x",
                                     "-1",
                                     "--1",
                                     "+5",
                                     " 5",
                                     "5 ",
                                     "5s",
                                     "1e3",
                                     "0x10",
                                     "5.0",
                                     "5,000",
                                     "five",
                                     "٣",
                                     "99999999999999999999",
                                     "nan",
                                     "2147483648",
                                     "4294967297",
                                     "-9223372036854775809",
                                     absl::string_view("5\0", 2)};
    for (const absl::string_view text : bad) {
      CAPTURE(std::string(text));
      CHECK_FALSE(Accepts(setting.name, text));
    }
  }
}

TEST_CASE("what is wrong with a number is said in its own words") {
  Config config = DefaultConfig();
  const Setting& setting = *FindSetting("RPC_QUEUES");
  CHECK(ParseValue(setting, "", config) == "it is empty");
  CHECK(ParseValue(setting, "4x", config) == "it is not a whole number in digits");
  CHECK(ParseValue(setting, "-4", config) == "it is negative");
  CHECK(ParseValue(setting, "0", config) == "it is too small");
  CHECK(ParseValue(setting, "65", config) == "it is too large");
  CHECK(ParseValue(setting, "99999999999999999999", config) == "it is too large");
  CHECK(setting.expected() == "a whole number of queues from 1 to 64");
  CHECK(config.rpc_queues == 1);
}

TEST_CASE("a number and a duration reach their fields") {
  Config config;
  REQUIRE_FALSE(ParseValue(*FindSetting("RPC_QUEUES"), "7", config));
  REQUIRE_FALSE(ParseValue(*FindSetting("RECENT_LIKES_TTL"), "90", config));
  CHECK(config.rpc_queues == 7);
  CHECK(config.recent_likes_ttl == absl::Seconds(90));
}

TEST_CASE("an address is a host and a port") {
  Config config;
  const Setting& setting = *FindSetting("GRPC_LISTEN");
  const auto read_back = [&](absl::string_view text) {
    const auto problem = ParseValue(setting, text, config);
    return problem.value_or(config.grpc_listen.ToString());
  };
  for (const char* text : {"127.0.0.1:0", "0.0.0.0:65535", "[::]:50051", "[::1]:1", "localhost:1",
                           "counter-1.example.org:50051"}) {
    CHECK(read_back(text) == text);
  }
  for (const char* text : {"",
                           ":",
                           ":50051",
                           "127.0.0.1",
                           "50051",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           "127.0.0.1:-1",
                           "127.0.0.1:65536",
                           "127.0.0.1:99999999999",
                           "127.0.0.1:80 ",
                           " 127.0.0.1:80",
                           "256.0.0.1:80",
                           "1.2.3:80",
                           "::1:80",
                           "[::1]",
                           "[::1:80",
                           "[]:80",
                           "[x]:80",
                           "[1.2.3.4]:80",
                           "a b:80",
                           "-a:80",
                           "a_b:80",
                           "http://h:80",
                           "h:80/",
                           "*:80",
                           "h\n:80",
                           "unix:/tmp/x"}) {
    CAPTURE(text);
    CHECK(read_back(text) != text);
    CHECK_FALSE(Accepts("GRPC_LISTEN", text));
  }
  CHECK_FALSE(Accepts("GRPC_LISTEN", absl::string_view("127.0.0.1\0:80", 13)));
  CHECK_FALSE(Accepts("GRPC_LISTEN", absl::string_view("[::1\0]:80", 9)));
  CHECK_FALSE(Accepts("GRPC_LISTEN", std::string(254, 'a') + ":80"));
}

TEST_CASE("an optional listener is off when it is empty") {
  for (const char* name : {"HTTP_LISTEN", "METRICS_LISTEN"}) {
    CHECK(Accepts(name, ""));
    CHECK(Accepts(name, "127.0.0.1:0"));
    CHECK_FALSE(Accepts(name, "off"));
    CHECK_FALSE(Accepts(name, "9090"));
  }
  Config config = DefaultConfig();
  REQUIRE(config.metrics_listen.has_value());
  REQUIRE_FALSE(ParseValue(*FindSetting("METRICS_LISTEN"), "", config));
  CHECK_FALSE(config.metrics_listen.has_value());
}

TEST_CASE("item types are names and numbers, each once") {
  Config config;
  const Setting& setting = *FindSetting("ITEM_TYPES");
  REQUIRE_FALSE(ParseValue(setting, "post=1,a_2=32767", config));
  CHECK(config.item_types == NamedItemTypes{{"post", ItemType{1}}, {"a_2", ItemType{32767}}});
  CHECK(Accepts("ITEM_TYPES", std::string(32, 'a') + "=1"));

  for (const char* text : {"",
                           ",",
                           "post",
                           "post=",
                           "=1",
                           "post=0",
                           "post=-1",
                           "post=32768",
                           "post=x",
                           "post=1.5",
                           "Post=1",
                           "1post=1",
                           "_post=1",
                           "po-st=1",
                           "po st=1",
                           " post=1",
                           "post =1",
                           "post= 1",
                           "post=1,",
                           ",post=1",
                           "post=1,,reel=2",
                           "post=1,post=2",
                           "post=1,reel=1",
                           "post=1;reel=2",
                           "post=1,reel=01",
                           "{a}=1",
                           "%s=1",
                           "p\xc3\xb6st=1"}) {
    CAPTURE(text);
    CHECK_FALSE(Accepts("ITEM_TYPES", text));
  }
  CHECK_FALSE(Accepts("ITEM_TYPES", std::string(33, 'a') + "=1"));
  CHECK(ParseValue(setting, "post=1,reel=1", config) == "entry 2 repeats a number");
  CHECK(ParseValue(setting, "post=1,Reel=2", config) == "entry 2 has no valid name");

  std::string hundred = "t1=1";
  for (int i = 2; i <= 100; ++i) absl::StrAppend(&hundred, ",t", i, "=", i);
  CHECK(Accepts("ITEM_TYPES", hundred));
  CHECK_FALSE(Accepts("ITEM_TYPES", hundred + ",t101=101"));
}

TEST_CASE("switches and words take their few values only") {
  for (const char* text : {"true", "yes", "on", "1", "false", "no", "off", "0"}) {
    CHECK(Accepts("REFLECTION", text));
  }
  for (const char* text : {"", "TRUE", "y", "2", "true "}) CHECK_FALSE(Accepts("REFLECTION", text));
  for (const char* text : {"debug", "info", "warning", "error"}) CHECK(Accepts("LOG_LEVEL", text));
  for (const char* text : {"", "warn", "INFO", "trace"}) CHECK_FALSE(Accepts("LOG_LEVEL", text));
  for (const char* text : {"auto", "text", "json"}) CHECK(Accepts("LOG_FORMAT", text));
  for (const char* text : {"", "JSON", "logfmt"}) CHECK_FALSE(Accepts("LOG_FORMAT", text));
  for (const char* text : {"local", "replicated", "unsafe"}) CHECK(Accepts("DURABILITY", text));
  for (const char* text : {"", "Local", "off"}) CHECK_FALSE(Accepts("DURABILITY", text));
  Config config = DefaultConfig();
  REQUIRE_FALSE(ParseValue(*FindSetting("LOG_LEVEL"), "error", config));
  REQUIRE_FALSE(ParseValue(*FindSetting("LOG_FORMAT"), "json", config));
  REQUIRE_FALSE(ParseValue(*FindSetting("REFLECTION"), "off", config));
  CHECK(config.log_level == LogLevel::kError);
  CHECK(config.log_format == LogFormat::kJson);
  CHECK_FALSE(config.reflection);
  REQUIRE_FALSE(ParseValue(*FindSetting("DURABILITY"), "unsafe", config));
  CHECK(config.durability == Durability::kUnsafe);
}

TEST_CASE("listeners that may be plaintext are named one by one") {
  Config config = DefaultConfig();
  CHECK(config.allow_plaintext == PlaintextListeners());
  REQUIRE_FALSE(ParseValue(*FindSetting("ALLOW_PLAINTEXT"), "http,grpc", config));
  CHECK(config.allow_plaintext == PlaintextListeners{.grpc = true, .http = true});
  for (const char* text : {"all", "grpc,", ",grpc", "GRPC", "grpc http", "true"}) {
    CHECK_FALSE(Accepts("ALLOW_PLAINTEXT", text));
  }
}

TEST_CASE("a list of URLs is taken apart, and a bad one is named by its place") {
  Config config = DefaultConfig();
  CHECK(config.replica_urls.empty());
  const Setting& setting = *FindSetting("REPLICA_URLS");
  REQUIRE_FALSE(ParseValue(setting, "postgresql://a/x, postgresql+asyncpg://b:5433/x", config));
  REQUIRE(config.replica_urls.size() == 2);
  CHECK(config.replica_urls[0].text == "postgresql://a/x");
  CHECK(config.replica_urls[1].text == "postgresql://b:5433/x");
  CHECK(ParseValue(setting, "postgresql://a/x,redis://b", config) ==
        "of URL 2: its scheme is another one");
  std::string many = "postgresql://a/x";
  for (int i = 0; i < 16; ++i) many += ",postgresql://a/x";
  CHECK(ParseValue(setting, many, config) == "it has more than 16 URLs");
  CHECK(ShowValue(setting, "postgresql://u:hunter2@a/x,postgresql://u:hunter2@b/x") ==
        "postgresql://u:***@a/x, postgresql://u:***@b/x");
}

TEST_CASE("URLs of services need the service's scheme") {
  CHECK(Accepts("DATABASE_URL", ""));
  CHECK(Accepts("DATABASE_URL", "postgresql+asyncpg://u:p@h:5432/likes"));
  CHECK_FALSE(Accepts("DATABASE_URL", "redis://h"));
  CHECK(Accepts("REDIS_URL", ""));
  CHECK(Accepts("REDIS_URL", "redis://h:6379/0"));
  CHECK(Accepts("REDIS_URL", "rediss://:p@h"));
  CHECK_FALSE(Accepts("REDIS_URL", "postgresql://h/likes"));
}

TEST_CASE("a shown value is one short line without control characters or secrets") {
  const Setting& data_dir = *FindSetting("DATA_DIR");
  CHECK(ShowValue(data_dir, "a") == "\"a\"");
  CHECK(ShowValue(data_dir, "a\n\x1b[31m\"") == "\"a\\n\\x1b[31m\\\"\"");
  CHECK(ShowValue(data_dir, std::string(5000, 'a')).size() < 250);
  const Setting& database = *FindSetting("DATABASE_URL");
  CHECK(ShowValue(database, "") == "\"\"");
  CHECK(ShowValue(database, "hunter2") == "(hidden)");
  CHECK(ShowValue(database, "postgresql://u:hunter2@h/d") == "postgresql://u:***@h/d");
}

}  // namespace
}  // namespace counter
