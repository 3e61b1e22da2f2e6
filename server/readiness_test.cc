#include "server/readiness.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "server/ready_file.h"
#include "server/testing/model_store.h"

namespace counter {
namespace {

// Waits for what another thread will do.
template <class Predicate>
bool Within10Seconds(Predicate predicate) {
  const MonotonicTime give_up = Clock::System().MonotonicNow() + absl::Seconds(10);
  while (!predicate()) {
    if (Clock::System().MonotonicNow() > give_up) return false;
    usleep(1000);
  }
  return true;
}

TEST_CASE("readiness follows the store in both directions") {
  ManualClock clock;
  ModelStore store(clock);
  std::atomic<int> told_ready = 0;
  std::atomic<int> told_not_ready = 0;
  Readiness readiness(store, [&](bool ready) { ++(ready ? told_ready : told_not_ready); });
  CHECK(readiness.ready());
  CHECK(told_ready == 1);

  store.SetHealth(absl::UnavailableError("the disk is full"));
  CHECK(Within10Seconds([&] { return told_not_ready == 1; }));
  CHECK_FALSE(readiness.ready());

  store.SetHealth(absl::OkStatus());
  CHECK(Within10Seconds([&] { return told_ready == 2; }));
  CHECK(readiness.ready());
}

TEST_CASE("a server that stops is not ready, however well its store is") {
  ManualClock clock;
  ModelStore store(clock);
  std::vector<bool> told;
  Readiness readiness(store, [&](bool ready) { told.push_back(ready); });
  readiness.Stop();
  CHECK_FALSE(readiness.ready());
  readiness.Stop();
  CHECK(told == std::vector<bool>{true, false});
}

TEST_CASE("the ready file names every listener and replaces an older one") {
  // Bazel gives every test a folder of its own.
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/ready";
  REQUIRE(WriteReadyFile(path, {{"grpc", "old"}}).ok());
  REQUIRE(WriteReadyFile(path, {{"grpc", "127.0.0.1:1"}, {"metrics", "127.0.0.1:2"}}).ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str() == "grpc=127.0.0.1:1\nmetrics=127.0.0.1:2\n");
}

TEST_CASE("a ready file that cannot be written is an error that names it") {
  const absl::Status error = WriteReadyFile("/nowhere/at/all", {{"grpc", "x"}});
  REQUIRE_FALSE(error.ok());
  CHECK(std::string(error.message()).find("/nowhere/at/all") != std::string::npos);
}

}  // namespace
}  // namespace counter
