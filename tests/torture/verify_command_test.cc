// counterctl verify, the program, on real servers: on sound ones that are killed meanwhile, and on
// a build that breaks its word.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"
#include "tests/torture/stage.h"

namespace counter::testing {
namespace {

class Verify {
 public:
  explicit Verify(Stage& stage, const std::string& duration) {
    Process::Options options;
    options.argv = {FromEnvironment("COUNTERCTL"),
                    "verify",
                    "--yes",
                    "--server",
                    stage.server(0).target(),
                    "--duration",
                    duration,
                    "--pause",
                    "4ms"};
    options.env = Process::BaseEnv();
    options.env["COUNTERCTL_CONFIG"] = temp_.File("none");
    options.stdout_path = temp_.File("out");
    options.stderr_path = temp_.File("err");
    auto started = Process::Start(options);
    REQUIRE(started.ok());
    process_.emplace(*std::move(started));
  }

  ExitStatus Wait() {
    const auto exit = process_->Wait(absl::Seconds(60) * Slowness());
    REQUIRE(exit.has_value());
    return *exit;
  }
  std::string out() const { return ReadFile(temp_.File("out")); }
  std::string err() const { return ReadFile(temp_.File("err")); }

 private:
  TempDir temp_;
  std::optional<Process> process_;
};

TEST_CASE(
    "counterctl verify says of sound servers that the contract held, also while one is killed") {
  Stage stage({});
  Verify verify(stage, "4s");
  REQUIRE(Eventually(absl::Seconds(10) * Slowness(), [&] {
    const auto metrics = stage.server(0).Metrics();
    return metrics.ok() && metrics->Sum("grpc_server_handled_total") > 100;
  }));
  stage.server(0).Kill9();
  REQUIRE(stage.server(0).Restart().ok());
  const ExitStatus exit = verify.Wait();
  INFO(verify.out() << verify.err());
  CHECK(exit == ExitStatus{0, 0});
  CHECK(absl::StrContains(verify.out(), "the contract held"));
  CHECK(absl::StrContains(verify.out(), "error_UNAVAILABLE"));
  CHECK(stage.Sql("SELECT count(*) FROM user_likes WHERE item_type = 1") == "0");
}

TEST_CASE("counterctl verify says of a server that breaks its word that it did, and exits with 1") {
  Stage::Options broken;
  broken.binary = FromEnvironment("COUNTERD_BROKEN");
  broken.settings["COUNTER_BREAK"] = "acknowledge-before-commit";
  Stage stage(broken);
  Verify verify(stage, "3s");
  const ExitStatus exit = verify.Wait();
  INFO(verify.out() << verify.err());
  CHECK(exit == ExitStatus{1, 0});
  CHECK(absl::StrContains(verify.out(), "the contract was broken"));
}

}  // namespace
}  // namespace counter::testing
