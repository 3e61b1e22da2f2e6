// The whole under torture: two servers over one PostgreSQL and one Redis, and each fault that there
// is. The short form takes a part of them, another one for each seed.
#include "tests/torture/torture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// `most` of them by chance; all in the long form.
std::vector<Fault> Some(std::vector<Fault> faults, size_t most, Random& random) {
  std::shuffle(faults.begin(), faults.end(), random);
  if (!LongForm() && faults.size() > most) faults.resize(most);
  return faults;
}

TEST_CASE("No like is lost, doubled or miscounted while processes die, stall and are restarted") {
  Stage stage({});
  Random random(TestSeed());
  TortureOptions options;
  options.faults = Some(ProcessFaults(stage), 9, random);
  options.duration = Sized(absl::ZeroDuration(), absl::Minutes(10));
  RequireClean(Torture(stage, options), stage);
}

TEST_CASE("No like is lost, doubled or miscounted while lines break in every way") {
  Stage stage({.line_buffer_bytes = 4096});
  Random random(TestSeed());
  TortureOptions options;
  options.faults = Some(LineFaults(stage), 9, random);
  options.duration = Sized(absl::ZeroDuration(), absl::Minutes(10));
  RequireClean(Torture(stage, options), stage);
}

TEST_CASE("No like is lost, doubled or miscounted when clocks jump and the machine runs out") {
  Stage stage({.small_disk = true, .net_link = true});
  if (stage.small_disk() == nullptr || stage.net_link() == nullptr)
    WARN("no right to mount or to make networks: not all is tested");
  Random random(TestSeed());
  TortureOptions options;
  options.faults = MachineFaults(stage);
  for (Fault& fault : Some(ClockFaults(stage), 2, random))
    options.faults.push_back(std::move(fault));
  options.duration = Sized(absl::ZeroDuration(), absl::Minutes(10));
  RequireClean(Torture(stage, options), stage);
}

}  // namespace
}  // namespace counter::testing
