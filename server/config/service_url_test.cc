#include "server/config/service_url.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace counter {
namespace {

const std::vector<absl::string_view> kPostgres = {"postgresql", "postgres"};

TEST_CASE("a URL of each form that the card uses is accepted, its driver dropped") {
  ServiceUrl url;
  CHECK(ParseServiceUrl("postgresql://u:p@h:5432/likes", kPostgres, url) == std::nullopt);
  CHECK(url.text == "postgresql://u:p@h:5432/likes");
  CHECK(ParseServiceUrl("postgres://h/likes", kPostgres, url) == std::nullopt);
  CHECK(url.text == "postgres://h/likes");
  CHECK(ParseServiceUrl("postgresql+asyncpg://u:a+b@h/likes", kPostgres, url) == std::nullopt);
  CHECK(url.text == "postgresql://u:a+b@h/likes");
  CHECK(ParseServiceUrl("postgresql://u:a+b@[::1]:5432/likes", kPostgres, url) == std::nullopt);
  CHECK(url.text == "postgresql://u:a+b@[::1]:5432/likes");
}

TEST_CASE("a URL may name several hosts, and each of them has to be one") {
  ServiceUrl url;
  const std::string good = "redis://u:p@h1:7000,[::1]:7001,h3/0";
  CHECK(ParseServiceUrl(good, {"redis"}, url) == std::nullopt);
  CHECK(url.text == good);
  CHECK(ParseServiceUrl("redis://h1,h2", {"redis"}, url) == std::nullopt);
  for (const char* bad : {"redis://h1:7000,h2:0/0", "redis://h1:7000,h2:70000", "redis://h1,h2:x",
                          "redis://h1,,h2", "redis://h1,", "redis://,h1", "redis://u:p@,h1"}) {
    CAPTURE(bad);
    CHECK(ParseServiceUrl(bad, {"redis"}, url).has_value());
  }
  CHECK(RedactUrl("redis://u:hunter2@h1:7000,[::1]:7001,h3/0?token=hunter2") ==
        "redis://u:***@h1:7000,[::1]:7001,h3/0?token=***");
  CHECK(RedactUrl("redis://u:hunter2@h1:7000,h 2/0") == "(hidden)");
  for (const char* text : {"redis:?hunter2", "redis:#hunter2", "redis:\xf3hunter2"})
    CHECK(RedactUrl(text) == "(hidden)");
}

TEST_CASE("a text that is no URL of the service is refused without being repeated") {
  const char* const bad[] = {
      "x",
      "hunter2",
      "://",
      "postgresql:",
      "postgresql:hunter2",
      "postgresql:?hunter2",
      "postgresql:#hunter2",
      "postgresql:\xf3hunter2",
      "postgresql:///likes",
      "mysql://hunter2@h/likes",
      "postgresqlx://u:hunter2@h/likes",
      "+asyncpg://u:hunter2@h/likes",
      "postgresql://u:hunter2@h:0/likes",
      "postgresql://u:hunter2@h:70000/likes",
      "postgresql://u:hunter2@h:port/likes",
      "postgresql://u:hunter2 x@h/likes",
      "postgresql://u:hunter2%zz@h/likes",
      "\xff\xfehunter2",
  };
  for (const char* text : bad) {
    ServiceUrl url;
    CAPTURE(text);
    const auto problem = ParseServiceUrl(text, kPostgres, url);
    REQUIRE(problem.has_value());
    CHECK_FALSE(absl::StrContains(*problem, "hunter2"));
    CHECK(url.text.empty());
  }
}

TEST_CASE("no password is left in a redacted URL, and the rest is") {
  CHECK(RedactUrl("postgresql://u:hunter2@h:5432/likes?sslmode=require") ==
        "postgresql://u:***@h:5432/likes?sslmode=require");
  CHECK(RedactUrl("redis://:hunter2@h/0") == "redis://:***@h/0");
  CHECK(RedactUrl("redis://h/0") == "redis://h/0");
  CHECK(RedactUrl("postgresql://h/likes?user=u&password=hunter2&sslPassword=hunter2&x=y") ==
        "postgresql://h/likes?user=u&password=***&sslPassword=***&x=y");
}

TEST_CASE("the members of a PostgreSQL cluster may stand in a URL") {
  ServiceUrl url;
  for (const char* text : {"postgresql://u:p@a:5432,b:5433/likes?sslmode=require",
                           "postgresql://a,b/likes", "postgresql://u@[::1]:1,10.0.0.1:2,c/likes",
                           "postgresql://u@%2Frun%2Fa,%2Frun%2Fb/likes"}) {
    CAPTURE(text);
    CHECK(ParseServiceUrl(text, kPostgres, url) == std::nullopt);
    CHECK(url.text == text);
  }
  for (const char* text : {"postgresql://a:0,b/likes", "postgresql://a,b:port/likes",
                           "postgresql://a,,b/likes", "postgresql://a,/likes", "mysql://a,b/x"}) {
    CAPTURE(text);
    CHECK(ParseServiceUrl(text, kPostgres, url).has_value());
  }
}

TEST_CASE("a list of URLs is split between them, not between the hosts of one") {
  using Urls = std::vector<absl::string_view>;
  CHECK(SplitUrls("").empty());
  CHECK(SplitUrls("postgresql://a/x") == Urls{"postgresql://a/x"});
  CHECK(SplitUrls("postgresql://a/x,postgresql://b/x") ==
        Urls{"postgresql://a/x", "postgresql://b/x"});
  CHECK(SplitUrls(" postgresql://a/x ,  postgresql://b/x, ") ==
        Urls{"postgresql://a/x", "postgresql://b/x"});
  CHECK(SplitUrls("postgresql://a:1,b:2/x,postgresql://c/x") ==
        Urls{"postgresql://a:1,b:2/x", "postgresql://c/x"});
}

TEST_CASE("no password is left in a redacted list, not even one that was split") {
  CHECK(RedactUrls("postgresql://u:hunter2@a/x,postgresql://u:hunter2@b/x") ==
        "postgresql://u:***@a/x, postgresql://u:***@b/x");
  for (const char* text : {"postgresql://u:1234 @h/", "postgresql://u:12,34@h/ hunter2", ","}) {
    CAPTURE(text);
    CHECK(RedactUrls(text) == "(hidden)");
  }
}

TEST_CASE("a URL with several @ is hidden and refused: nobody knows where its password ends") {
  for (const char* text : {"redis://@:hunter2@h", "redis://u@:hunter2@h:1", "redis://:hunter2@@h",
                           "redis://u:a@hunter2@h1,h2", "redis://h1,u@:hunter2@h2"}) {
    CAPTURE(text);
    CHECK(RedactUrl(text) == "(hidden)");
    CHECK(RedactUrls(text) == "(hidden)");
    ServiceUrl url;
    CHECK(ParseServiceUrl(text, {"redis"}, url).has_value());
  }
  CHECK(RedactUrl("redis://u:hunter2@h/0?x=a@b@c") == "redis://u:***@h/0?x=a@b@c");
}

TEST_CASE("a text without a recognisable place for its password is hidden whole") {
  for (const char* text : {"hunter2", "postgresql://u:hunter2 @h/", "u:hunter2@h",
                           "hunter2:", "mailto:hunter2", "a://u:hunter2%2@h", "\xff"}) {
    CAPTURE(text);
    CHECK(RedactUrl(text) == "(hidden)");
  }
}

}  // namespace
}  // namespace counter
