// The schema through the real program: `counterd migrate up` and `status`, a server that refuses a
// database behind it, and one that serves through a transaction pooler.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/full_stack.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/environment.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr char kTypes[] = "post=1,reel=2";

std::string EmptyDatabase(const std::string& name) {
  const auto url = SharedPostgres().MakeDatabase(name);
  INFO(url.status());
  REQUIRE(url.ok());
  return *url;
}

Process StartMigrate(const std::string& url, const std::string& verb, const std::string& said) {
  Process::Options options;
  options.argv = {FromEnvironment("COUNTERD"), "migrate", verb};
  options.env = Process::BaseEnv();
  options.env["DATABASE_URL"] = UrlOf(url);
  options.env["ITEM_TYPES"] = kTypes;
  options.stdout_path = said;
  options.stderr_path = said;
  auto process = Process::Start(options);
  INFO(process.status());
  REQUIRE(process.ok());
  return *std::move(process);
}

// The exit status of one that runs alone.
int Migrate(const std::string& url, const std::string& verb, const std::string& said) {
  const auto exit = StartMigrate(url, verb, said).Wait(absl::Seconds(30) * Slowness());
  REQUIRE(exit.has_value());
  return exit->code;
}

CounterServer::Options ServerOn(const std::string& url) {
  CounterServer::Options options;
  options.env = {
      {"DATABASE_URL", UrlOf(url)}, {"ITEM_TYPES", kTypes}, {"RATE_LIMIT_REQUESTS", "0"}};
  options.ready_deadline = absl::Seconds(20) * Slowness();
  return options;
}

TEST_CASE("A database behind the server is refused with what to do, and served after migrate up") {
  const std::string url = EmptyDatabase("behind");
  const TempDir temp;
  CHECK(Migrate(url, "status", temp.File("before")) == 1);
  CHECK(absl::StrContains(ReadFile(temp.File("before")), "missing: migration 0001_likes"));
  const auto refused = CounterServer::Start(ServerOn(url));
  REQUIRE_FALSE(refused.ok());
  CHECK(absl::StrContains(refused.status().message(), "run counterd migrate up"));
  CHECK(Migrate(url, "up", temp.File("up")) == 0);
  CHECK(Migrate(url, "status", temp.File("after")) == 0);
  CHECK(Migrate(url, "up", temp.File("again")) == 0);
  CHECK(absl::StrContains(ReadFile(temp.File("again")), "nothing to do"));
  const auto server = CounterServer::Start(ServerOn(url));
  INFO(server.status());
  REQUIRE(server.ok());
  CHECK(ConnectTo(**server).Like(1, Post(1)).ok());
}

TEST_CASE("Of five counterd migrate up at once all succeed, and each step was done by one") {
  const std::string url = EmptyDatabase("contended");
  const TempDir temp;
  std::vector<Process> migrating;
  for (int i = 0; i < 5; ++i)
    migrating.push_back(StartMigrate(url, "up", temp.File(absl::StrCat("said", i))));
  std::string said;
  for (size_t i = 0; i < migrating.size(); ++i) {
    const auto exit = migrating[i].Wait(absl::Seconds(60) * Slowness());
    const std::string one = ReadFile(temp.File(absl::StrCat("said", i)));
    INFO(one);
    CHECK(exit == ExitStatus{0, 0});
    absl::StrAppend(&said, one);
  }
  for (const char* step :
       {"0001_likes", "0002_serving_role", "0003_timelines", "item type 1", "item type 2"}) {
    CAPTURE(step, said);
    const size_t first = said.find(step);
    REQUIRE(first != std::string::npos);
    CHECK(said.find(step, first + 1) == std::string::npos);
  }
  CHECK(Migrate(url, "status", temp.File("status")) == 0);
}

TEST_CASE("Two servers behind a transaction pooler, not told of it, are one service") {
  const std::string url = MigratedDatabase();
  const auto bouncer = PgBouncer::Start(SharedPostgres());
  INFO(bouncer.status());
  REQUIRE(bouncer.ok());
  const auto name = SharedPostgres().Psql(url, "SELECT current_database()");
  REQUIRE(name.ok());
  std::vector<std::unique_ptr<CounterServer>> servers;
  for (int i = 0; i < 2; ++i) {
    auto server = CounterServer::Start(ServerOn((*bouncer)->Url(*name)));
    INFO(server.status());
    REQUIRE(server.ok());
    servers.push_back(*std::move(server));
  }
  const Client first = ConnectTo(*servers[0]);
  const Client second = ConnectTo(*servers[1]);
  for (int64_t user = 1; user <= 50; ++user) {
    const auto made = (user % 2 == 0 ? first : second).Like(user, Post(1));
    REQUIRE(made.ok());
    CHECK(made->count == user);
    const auto repeat = (user % 2 == 0 ? second : first).Like(user, Post(1));
    REQUIRE(repeat.ok());
    CHECK_FALSE(repeat->changed);
    CHECK(repeat->count == user);
  }
  REQUIRE(first.Unlike(1, Post(1)).ok());
  CHECK(StrongCount(second, Post(1)) == 49);
  RequireSound(*OpenTestStore(url), SharedPostgres());
}

}  // namespace
}  // namespace counter::testing
