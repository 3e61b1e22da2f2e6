#include "storage/postgres/primary_history.h"

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

SessionFacts On(const std::string& timeline, const std::string& cluster = "7000") {
  SessionFacts facts;
  facts.system_id = cluster;
  facts.store_id = "a1";
  facts.timeline = timeline;
  return facts;
}

TEST_CASE("before the first session every one may be taken, and none is a failover") {
  PrimaryHistory history;
  CHECK_FALSE(history.Veto(On("00000001"), false).has_value());
  CHECK(history.timeline().empty());
  history.Took(On("00000001"));
  CHECK(history.timeline() == "a1t00000001");
  CHECK(history.failovers() == 0);
}

TEST_CASE("a promoted standby is followed, and the old primary is refused from then on") {
  PrimaryHistory history;
  history.Took(On("00000001"));
  CHECK_FALSE(history.Veto(On("00000002"), true).has_value());
  history.Took(On("00000002"));
  CHECK(history.failovers() == 1);
  CHECK(history.timeline() == "a1t00000002");
  CHECK(history.Veto(On("00000001"), false).has_value());
  CHECK(history.IsOutdated(On("00000001")));
  CHECK_FALSE(history.IsOutdated(On("00000002")));
  // A session of before that is still in use changes nothing.
  history.Took(On("00000001"));
  CHECK(history.timeline() == "a1t00000002");
  CHECK(history.failovers() == 1);
}

TEST_CASE("timelines are compared as numbers of base 16") {
  PrimaryHistory history;
  history.Took(On("0000000A"));
  CHECK(history.timeline_number() == 10);
  CHECK(history.Veto(On("00000009"), false).has_value());
  CHECK_FALSE(history.Veto(On("00000010"), false).has_value());
}

TEST_CASE("another store is taken only when no session of the former one is in use") {
  PrimaryHistory history;
  history.Took(On("00000005"));
  CHECK(history.Veto(On("00000009", "8000"), true).has_value());
  CHECK_FALSE(history.Veto(On("00000001", "8000"), false).has_value());
  history.Took(On("00000001", "8000"));
  CHECK(history.timeline_number() == 1);
  CHECK(history.failovers() == 0);
  SessionFacts restored = On("00000005");
  restored.store_id = "b2";
  CHECK(history.Veto(restored, true).has_value());
}

}  // namespace
}  // namespace counter::postgres
