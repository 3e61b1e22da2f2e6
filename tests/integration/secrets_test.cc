// Secrets: a server with one in every setting that can hold one, and accounts with the rights of
// deploy/ and no others, works and never shows any of them.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cpp/credentials.h"
#include "tests/integration/full_stack.h"
#include "tests/integration/secured_server.h"
#include "tests/support/certificates.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// Each stands nowhere else, so that it is found wherever it gets to.
constexpr char kPostgresSecret[] = "qzx-postgres-qzx";
constexpr char kSslSecret[] = "qzx-sslpassword-qzx";
constexpr char kRedisSecret[] = "qzx-redis-qzx";
constexpr char kTokenSecret[] = "qzx-token-qzx-token-qzx-token-qzx-token";
constexpr char kKeyMark[] = "PRIVATE KEY";

const std::vector<std::string>& Secrets() {
  static const auto* const secrets = new std::vector<std::string>{
      kPostgresSecret, kSslSecret, kRedisSecret, kTokenSecret, kKeyMark};
  return *secrets;
}

// Fails the case for each secret in `text`, which is what `where` shows.
void CheckSilent(const std::string& where, const std::string& text) {
  for (const std::string& secret : Secrets()) {
    CAPTURE(where, secret);
    // Not in the message: a test's log is no place for it either.
    const bool is_shown = absl::StrContains(text, secret);
    CHECK_FALSE(is_shown);
  }
}

// What counterd writes with these arguments, and how it ends.
std::string OutputOf(const std::vector<std::string>& arguments, const Settings& settings) {
  const TempDir folder;
  Process::Options options;
  options.argv = {FromEnvironment("COUNTERD")};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.env = Process::BaseEnv();
  for (const auto& [name, value] : settings) options.env[name] = value;
  options.env["DATA_DIR"] = folder.File("data");
  options.stdout_path = folder.File("out");
  options.stderr_path = folder.File("out");
  auto process = Process::Start(options);
  REQUIRE(process.ok());
  REQUIRE(process->Wait(absl::Seconds(30) * Slowness()).has_value());
  return ReadFile(folder.File("out"));
}

// The rights that deploy/redis/users.acl gives a server, to the account `counter`.
void AddRedisAccount(RedisServer& redis) {
  for (const absl::string_view line :
       absl::StrSplit(ReadFile(FromEnvironment("USERS_ACL")), '\n')) {
    if (!absl::StartsWith(line, "user counter ")) continue;
    const std::string rights =
        absl::StrReplaceAll(line, {{"user counter ", ""}, {"PASSWORD", kRedisSecret}});
    std::vector<std::string> command = {"ACL", "SETUSER", "counter"};
    for (const absl::string_view right : absl::StrSplit(rights, ' ')) command.emplace_back(right);
    REQUIRE(redis.Command(command) == "OK");
    return;
  }
  FAIL("deploy/redis/users.acl has no account for servers");
}

TEST_CASE("Secrets show in nothing that a server writes or answers, and least rights are enough") {
  FullStack stack;
  stack.Sql(absl::StrCat("CREATE ROLE least LOGIN PASSWORD '", kPostgresSecret,
                         "' IN ROLE counter_serving"));
  AddRedisAccount(stack.redis());
  const CertificateAuthority authority("authority");
  const ServerCertificates certificates(authority.Issue());
  const TempDir folder;
  WriteFile(folder.File("tokens"), absl::StrCat("feed ", kTokenSecret, "\n"));
  WriteFile(folder.File("callers"),
            "caller feed\nallow counter.v1.CounterService/* feed\nallow pages/live anyone\n");

  Settings settings = certificates.settings();
  // The account takes the place of the owner's, with a password.
  const std::string url = UrlOf(stack.database());
  const size_t at = url.find('@');
  REQUIRE(at != std::string::npos);
  settings["DATABASE_URL"] =
      absl::StrCat("postgresql://least:", kPostgresSecret, url.substr(at),
                   absl::StrContains(url, "?") ? "&" : "?", "sslpassword=", kSslSecret);
  settings["REDIS_URL"] =
      absl::StrCat("redis://counter:", kRedisSecret, "@127.0.0.1:", stack.redis().port(), "/0");
  settings["CALLERS_FILE"] = folder.File("callers");
  settings["CALLER_TOKENS_FILE"] = folder.File("tokens");
  settings["LOG_LEVEL"] = "debug";
  const std::unique_ptr<CounterServer> server = stack.StartAnother(settings);

  const client::TlsOptions trusting = {.ca = authority.pem(), .bearer_token = kTokenSecret};
  const Client feed = ConnectSecurely(*server, trusting);
  REQUIRE(feed.Like(1, Post(1)).ok());
  REQUIRE(feed.HasLiked(1, {Post(1)}).ok());
  REQUIRE(feed.Unlike(1, Post(1)).ok());
  REQUIRE(feed.Count(Post(1)).ok());
  REQUIRE(feed.ListLikes(1).ok());
  // Redis took all of it from an account with the rights of a server.
  CHECK(MetricOf(*server, "counter_redis_connected") == 1);
  CHECK(stack.redis().Command({"ACL", "LOG"}).empty());

  // Wrong tokens, and errors of every kind.
  const auto wrong = ConnectSecurely(
      *server, {.ca = authority.pem(), .bearer_token = absl::StrCat(kTokenSecret, "x")});
  const auto refused = wrong.Like(1, Post(1));
  REQUIRE_FALSE(refused.ok());
  CheckSilent("a refusal", refused.error().ToString());
  CheckSilent("a bad request", feed.Like(0, Post(0)).error().ToString());
  for (const char* page : {"/", "/health", "/openapi.json", "/v1/count?item_id=1", "/nothing"}) {
    CheckSilent(page, AskSecurely(server->http_port(), trusting,
                                  absl::StrCat("GET ", page, " HTTP/1.1\r\nHost: x\r\n",
                                               "Connection: close\r\n\r\n")));
  }
  HttpClient metrics(server->metrics_port());
  CheckSilent("/metrics", metrics.Get("/metrics").body);
  CheckSilent("/health", metrics.Get("/health").body);

  // Files that go bad are reported, and stores that go away.
  WriteFile(folder.File("tokens"), absl::StrCat("feed ", kTokenSecret, " ", kTokenSecret, "\n"));
  CHECK(Eventually(absl::Seconds(20) * Slowness(), [&] {
    return MetricOf(*server, "counter_files_refused", {{"files", "callers"}}) == 1;
  }));
  stack.Sql(
      "ALTER ROLE least NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE usename = 'least'");
  REQUIRE(stack.redis().Command({"ACL", "DELUSER", "counter"}) == "1");
  CHECK(Eventually(absl::Seconds(20) * Slowness(),
                   [&] { return MetricOf(*server, "counter_store_available") == 0; }));
  CheckSilent("an outage", feed.Like(1, Post(1)).error().ToString());

  const std::string process = absl::StrCat("/proc/", server->process().pid(), "/");
  CheckSilent("the command line", ReadFile(process + "cmdline"));
  CheckSilent("the command's name", ReadFile(process + "comm"));
  StopServer(*server);
  CheckSilent("the log", server->Log());

  // Commands that print settings, and faults in them.
  CheckSilent("config", OutputOf({"config"}, settings));
  CheckSilent("migrate", OutputOf({"migrate", "status"}, settings));
  Settings faulty = settings;
  faulty["DATABASE_URL"] = absl::StrCat("postgresql://a b:", kPostgresSecret, "@[/x");
  faulty["REDIS_URL"] = absl::StrCat("http://a:", kRedisSecret, "@x");
  faulty["CACHE_TTL_SECONDS"] = "soon";
  const std::string faults = OutputOf({}, faulty);
  CheckSilent("faults of settings", faults);
  CHECK(absl::StrContains(faults, "3 faults"));
}

}  // namespace
}  // namespace counter::testing
