// When an outbox row is done.
#include "server/upkeep/outbox_match.h"

#include <vector>

#include <catch2/catch.hpp>

namespace counter {
namespace {

const MonotonicTime kStart = MonotonicTime(std::chrono::hours(1));
constexpr Item kA{ItemType{1}, 1};
constexpr Item kB{ItemType{1}, 2};

struct Fixture {
  std::vector<int64_t> Acknowledged(const Item& item, int64_t version) {
    std::vector<OutboxRow> done;
    match.Acknowledged(item, version, done);
    std::vector<int64_t> ids;
    for (const OutboxRow& row : done) ids.push_back(row.id);
    return ids;
  }

  OutboxMatch match{absl::Seconds(2), 3};
};
using Ids = std::vector<int64_t>;

TEST_CASE("outbox match: a row is done when all its items were told, and not before") {
  Fixture fixture;
  fixture.match.Committed({7, 0}, {{kA, 1, 10}, {kB, 1, 11}}, kStart);
  CHECK(fixture.Acknowledged(kB, 11).empty());
  CHECK(fixture.Acknowledged(kB, 12).empty());
  CHECK(fixture.Acknowledged(kA, 10) == Ids{7});
  CHECK(fixture.match.rows() == 0);
  CHECK(fixture.Acknowledged(kA, 10).empty());
}

TEST_CASE("outbox match: a newer version tells of the older, an older one does not of the newer") {
  Fixture fixture;
  fixture.match.Committed({7, 0}, {{kA, 1, 10}}, kStart);
  fixture.match.Committed({8, 1}, {{kA, 2, 20}}, kStart);
  CHECK(fixture.Acknowledged(kA, 9).empty());
  CHECK(fixture.Acknowledged(kA, 15) == Ids{7});
  fixture.match.Committed({9, 0}, {{kA, 3, 30}}, kStart);
  CHECK(fixture.Acknowledged(kA, 30) == Ids{8, 9});
}

TEST_CASE("outbox match: rows that nobody told of in time are forgotten") {
  Fixture fixture;
  fixture.match.Committed({7, 0}, {{kA, 1, 10}, {kB, 1, 11}}, kStart);
  CHECK(fixture.Acknowledged(kB, 11).empty());
  fixture.match.Committed({8, 0}, {{kB, 2, 20}}, kStart + absl::Seconds(3));
  CHECK(fixture.match.rows() == 1);
  CHECK(fixture.Acknowledged(kA, 10).empty());
  CHECK(fixture.Acknowledged(kB, 20) == Ids{8});
}

TEST_CASE("outbox match: over the bound the oldest rows are forgotten first") {
  Fixture fixture;
  for (int64_t id = 1; id <= 5; ++id) fixture.match.Committed({id, 0}, {{kA, 1, id}}, kStart);
  CHECK(fixture.match.rows() == 3);
  CHECK(fixture.Acknowledged(kA, 5) == Ids{3, 4, 5});
}

}  // namespace
}  // namespace counter
