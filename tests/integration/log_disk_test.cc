// Known fault K20, the part about the service's own log: its disk is full, and the server serves.
//
// Mounts a tmpfs of its own, which asks for root; without it the case says so and checks nothing.
#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/integration/fixture.h"
#include "tests/storage/small_disk.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

TEST_CASE("K20: with no room left for its log the server serves, and logs again when there is") {
  const SmallDisk disk(2);
  if (!disk.mounted()) {
    WARN("no right to mount a file system: not tested");
    return;
  }
  CounterServer::Options options;
  options.log_path = disk.path() + "/log";
  // A line for each call.
  options.env = {{"LOG_LEVEL", "debug"}, {"RATE_LIMIT_REQUESTS", "0"}};
  options.ready_deadline = absl::Seconds(10) * Slowness();
  auto started = CounterServer::Start(std::move(options));
  INFO(started.status());
  REQUIRE(started.ok());
  CounterServer& server = **started;
  const Client client = ConnectTo(server);
  REQUIRE(client.Like(1, Post(1)).ok());
  const std::string ballast = disk.path() + "/ballast";
  FillDisk(ballast);
  const int calls = Sized(2000, 20'000);
  for (int64_t user = 2; user <= calls; ++user) {
    const auto like = client.Like(user, Post(1));
    CAPTURE(user);
    REQUIRE(like.ok());
    REQUIRE(like->count == user);
  }
  CHECK(StrongCount(client, Post(1)) == calls);
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return MetricOf(server, "counter_log_lines_lost_total") > 0; }));
  const auto logged = [&] { return std::filesystem::file_size(disk.path() + "/log"); };
  const auto logged_before = logged();
  REQUIRE(unlink(ballast.c_str()) == 0);
  CHECK(Eventually(absl::Seconds(5) * Slowness(),
                   [&] { return client.Like(1, Post(2)).ok() && logged() > logged_before; }));
  CHECK(server.process().Running());
  StopServer(server);
  RequireSoundStore(server);
}

}  // namespace
}  // namespace counter::testing
