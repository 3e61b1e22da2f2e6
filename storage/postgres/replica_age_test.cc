#include "storage/postgres/replica_age.h"

#include <catch2/catch.hpp>

namespace counter::postgres {
namespace {

MonotonicTime At(int seconds) { return MonotonicTime(std::chrono::seconds(seconds)); }

SessionFacts Session(const std::string& timeline) {
  SessionFacts facts;
  facts.timeline = timeline;
  facts.system_id = "7";
  facts.store_id = "s";
  return facts;
}

struct World {
  World() {
    primary.Took(Session("00000002"));
    meter.PrimaryAt(100, At(10));
    meter.PrimaryAt(200, At(11));
  }
  std::optional<MonotonicTime> FreshAt(const ReplicaPosition& position) const {
    return ReplicaFreshAt(position, Session(""), primary, meter);
  }

  PrimaryHistory primary;
  LagMeter meter;
  ReplicaPosition position = {true, 150, 2, "s"};
};

TEST_CASE("a replica is as fresh as the last question whose answer it has replayed") {
  World world;
  CHECK(world.FreshAt(world.position) == At(10));
  world.position.replayed = 200;
  CHECK(world.FreshAt(world.position) == At(11));
}

TEST_CASE("a replica on another timeline than the primary's has no known age") {
  World world;
  world.position.replayed = 999;
  world.position.timeline = 1;
  CHECK_FALSE(world.FreshAt(world.position).has_value());
}

TEST_CASE("a replica that was promoted, or is of another store, has no known age") {
  World promoted;
  promoted.position.in_recovery = false;
  CHECK_FALSE(promoted.FreshAt(promoted.position).has_value());
  World another;
  another.position.store_id = "t";
  CHECK_FALSE(another.FreshAt(another.position).has_value());
}

TEST_CASE("an answer may be given while it is within the bound, and not when its age is unknown") {
  CHECK(MayAnswer(At(10), At(11), absl::Seconds(1)));
  CHECK_FALSE(MayAnswer(At(10), At(12), absl::Seconds(1)));
  CHECK_FALSE(MayAnswer(std::nullopt, At(10), absl::Seconds(1)));
}

TEST_CASE("a session of another cluster, or of a later timeline, is no replica of this primary") {
  World world;
  CHECK_FALSE(VetoReplica(Session(""), world.primary).has_value());
  SessionFacts another = Session("");
  another.system_id = "8";
  CHECK(VetoReplica(another, world.primary).has_value());
  SessionFacts later = Session("");
  later.checkpoint_timeline = 3;
  CHECK(VetoReplica(later, world.primary).has_value());
  CHECK(VetoReplica(Session(""), PrimaryHistory()).has_value());
}

}  // namespace
}  // namespace counter::postgres
