// The harness itself: a product that breaks its word in one of four ways must be caught, each time.
// Two of them are in a program that only tests can build (server/broken_backends.h), two in the
// database, where the product's own statements are bent by triggers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "clients/verify/checker.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/torture/torture.h"

namespace counter::testing {
namespace {

using verify::FindingKind;

Stage::Options Broken(const std::string& how) {
  Stage::Options options;
  options.binary = FromEnvironment("COUNTERD_BROKEN");
  options.settings["COUNTER_BREAK"] = how;
  return options;
}

// Those faults whose names say `part`.
std::vector<Fault> Named(std::vector<Fault> faults, const std::string& part) {
  faults.erase(std::remove_if(
                   faults.begin(), faults.end(),
                   [&](const Fault& fault) { return fault.name.find(part) == std::string::npos; }),
               faults.end());
  return faults;
}

// What was found, by kind; the case fails if nothing was.
bool Found(const TortureReport& report, FindingKind kind) {
  INFO(report.schedule);
  for (const verify::Finding& finding : report.findings)
    UNSCOPED_INFO(verify::Name(finding.kind) << ": " << finding.what);
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [kind](const verify::Finding& finding) { return finding.kind == kind; });
}

// Few faults and little load suffice.
TortureOptions Short(std::vector<Fault> faults) {
  TortureOptions options;
  options.faults = std::move(faults);
  options.duration = absl::Seconds(1);
  return options;
}

TEST_CASE("A server that acknowledges before it commits is caught") {
  Stage stage(Broken("acknowledge-before-commit"));
  const TortureReport report = Torture(stage, Short(Named(ProcessFaults(stage), "is killed")));
  CHECK((Found(report, FindingKind::kLost) || Found(report, FindingKind::kDuplicated)));
  // A strong read after such a reply does not see it.
  CHECK(Found(report, FindingKind::kUntrue));
}

TEST_CASE("A cache whose counts are moved by deltas is caught") {
  Stage stage(Broken("cache-by-delta"));
  TortureOptions options = Short({});
  options.duration = absl::Seconds(3);
  const TortureReport report = Torture(stage, options);
  CHECK(Found(report, FindingKind::kUntrue));
}

TEST_CASE("A count that counts some likes twice is caught") {
  Stage stage({});
  stage.Sql(
      "CREATE FUNCTION count_twice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF random() < 0.02 THEN NEW.count := NEW.count + 1; END IF; RETURN NEW; END $$; "
      "CREATE TRIGGER count_twice BEFORE UPDATE ON counters FOR EACH ROW "
      "WHEN (NEW.count > OLD.count) EXECUTE FUNCTION count_twice()");
  const TortureReport report = Torture(stage, Short({}));
  CHECK(Found(report, FindingKind::kDrift));
  CHECK(Found(report, FindingKind::kUntrue));
}

TEST_CASE(
    "An outbox that loses its rows is caught when a server dies before its word to the cache") {
  Stage stage({});
  stage.Sql(
      "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "DELETE FROM cache_outbox WHERE id = NEW.id; RETURN NULL; END $$; "
      "CREATE TRIGGER lose AFTER INSERT ON cache_outbox FOR EACH ROW EXECUTE FUNCTION lose()");
  // An item of no load: its next write would put the cache right.
  const client::Item item = {"post", 1'000'000};
  const client::Client& client = *stage.Clients()[0];
  CounterServer& server = stage.server(0);
  REQUIRE(client.Count(item).ok());
  server.Kill9();
  REQUIRE(server.Restart({{"COUNTER_FAILPOINT", "exit-after-commit"}}).ok());
  int64_t user = 1;
  REQUIRE(Eventually(absl::Seconds(20) * Slowness(), [&] {
    (void)client.Like(user++, item);
    return !server.process().Running();
  }));
  REQUIRE(server.Restart({{"COUNTER_FAILPOINT", ""}}).ok());
  TortureOptions options = Short({});
  options.load_ends_first = true;
  const TortureReport report = Torture(stage, options);
  REQUIRE(report.complaints.size() == 1);
  CHECK(absl::StrContains(report.complaints[0], "the cache is not what the store is"));
}

}  // namespace
}  // namespace counter::testing
