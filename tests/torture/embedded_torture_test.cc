// The embedded store under torture: one server on its own data folder.
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "tests/support/test_settings.h"
#include "tests/torture/torture.h"

namespace counter::testing {
namespace {

TEST_CASE("The embedded store loses, doubles and miscounts nothing under any fault") {
  Stage stage({.embedded = true});
  TortureOptions options;
  options.faults = AllFaults(stage);
  constexpr size_t kInShort = 9;
  Random random(TestSeed());
  std::shuffle(options.faults.begin(), options.faults.end(), random);
  if (!LongForm()) options.faults.resize(std::min(options.faults.size(), kInShort));
  options.duration = Sized(absl::ZeroDuration(), absl::Minutes(10));
  RequireClean(Torture(stage, options), stage);
}

}  // namespace
}  // namespace counter::testing
