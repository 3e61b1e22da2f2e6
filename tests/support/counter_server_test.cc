// Held against a shell script that behaves as counterd does at its start and its end; the real one
// is for tests/integration.
#include "tests/support/counter_server.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

// Writes down what it was given, "binds" the asked ports or, for 0, ports of its own.
constexpr char kScript[] = R"(#!/bin/sh
trap 'exit 0' TERM
echo "start $GRPC_LISTEN $METRICS_LISTEN $EXTRA $*" >> "$DATA_DIR/starts"
grpc=$GRPC_LISTEN; [ "$grpc" = 127.0.0.1:0 ] && grpc=127.0.0.1:4711
metrics=$METRICS_LISTEN; [ "$metrics" = 127.0.0.1:0 ] && metrics=127.0.0.1:4712
if [ "$EXTRA" = broken ]; then echo "DATA_DIR is broken" >&2; exit 3; fi
if [ "$EXTRA" != slow ]; then
  printf 'grpc=%s\nmetrics=%s\n' "$grpc" "$metrics" > "$READY_FILE.new"
  mv "$READY_FILE.new" "$READY_FILE"
fi
while :; do sleep 0.01; done
)";

class Script {
 public:
  Script() {
    WriteFile(temp_.File("counterd"), kScript);
    std::filesystem::permissions(temp_.File("counterd"), std::filesystem::perms::owner_all);
  }
  CounterServer::Options Options() const {
    CounterServer::Options options;
    options.binary = temp_.File("counterd");
    return options;
  }

 private:
  TempDir temp_;
};

TEST_CASE("A started server is ready, and its ports are those of the ready file") {
  const Script script;
  absl::StatusOr<std::unique_ptr<CounterServer>> server = CounterServer::Start(script.Options());
  REQUIRE(server.ok());
  CHECK((*server)->target() == "127.0.0.1:4711");
  CHECK((*server)->metrics_port() == 4712);
  (*server)->Terminate();
  CHECK((*server)->WaitExit(absl::Seconds(10)) == ExitStatus{0, 0});
}

TEST_CASE("A restart keeps data and ports and adds settings") {
  const Script script;
  CounterServer::Options options = script.Options();
  options.args = {"--flag"};
  absl::StatusOr<std::unique_ptr<CounterServer>> server = CounterServer::Start(options);
  REQUIRE(server.ok());
  (*server)->Kill9();
  CHECK((*server)->WaitExit(absl::ZeroDuration()) == ExitStatus{-1, SIGKILL});
  REQUIRE((*server)->Restart({{"EXTRA", "more"}}).ok());
  CHECK((*server)->target() == "127.0.0.1:4711");
  CHECK(ReadFile((*server)->data_dir() + "/starts") ==
        "start 127.0.0.1:0 127.0.0.1:0  --flag\n"
        "start 127.0.0.1:4711 127.0.0.1:4712 more --flag\n");
}

TEST_CASE("A server that ends before it is ready is an error that holds what it wrote") {
  const Script script;
  CounterServer::Options options = script.Options();
  options.env["EXTRA"] = "broken";
  const absl::StatusOr<std::unique_ptr<CounterServer>> server = CounterServer::Start(options);
  REQUIRE_FALSE(server.ok());
  CHECK(absl::StrContains(server.status().message(), "exit 3"));
  CHECK(absl::StrContains(server.status().message(), "DATA_DIR is broken"));
}

TEST_CASE("A server that is not ready in time is an error") {
  const Script script;
  CounterServer::Options options = script.Options();
  options.env["EXTRA"] = "slow";
  options.ready_deadline = absl::Milliseconds(100);
  const absl::StatusOr<std::unique_ptr<CounterServer>> server = CounterServer::Start(options);
  REQUIRE_FALSE(server.ok());
  CHECK(absl::StrContains(server.status().message(), "not ready in time"));
}

}  // namespace
}  // namespace counter::testing
