#include "cache/count_protocol.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

namespace counter {
namespace {

using CellKind = CountCell::Kind;
using Effect = CountPutStep::Effect;
using Kind = CountLookup::Kind;

constexpr Item kItem{ItemType{1}, 456};
const absl::Time kReadAt = absl::FromUnixSeconds(1'700'000'000);

CountCell LeaseCell(FillToken token, int64_t minimum) {
  CountCell cell;
  cell.kind = CellKind::kLease;
  cell.token = token;
  cell.version = minimum;
  return cell;
}
CountCell ValueCell(int64_t count, int64_t version) {
  CountCell cell;
  cell.kind = CellKind::kValue;
  cell.count = count;
  cell.version = version;
  cell.read_at = kReadAt;
  return cell;
}
CountPut PutOf(int64_t count, int64_t version, FillToken token = 0) {
  return {{kItem, count, version, kReadAt}, token};
}

TEST_CASE("a get of an absent key leaves a lease with no minimum") {
  const CountGetStep step = StepGet({}, 7);
  CHECK(step.answer == Kind::kLease);
  CHECK(step.cell.kind == CellKind::kLease);
  CHECK(step.cell.token == 7);
  CHECK(step.cell.version == 0);
}

TEST_CASE("a get changes neither a lease nor a value") {
  const CountGetStep on_lease = StepGet(LeaseCell(7, 11), 8);
  CHECK(on_lease.answer == Kind::kMiss);
  CHECK(on_lease.cell.token == 7);
  CHECK(on_lease.cell.version == 11);
  const CountGetStep on_value = StepGet(ValueCell(5, 10), 8);
  CHECK(on_value.answer == Kind::kHit);
  CHECK(on_value.cell.kind == CellKind::kValue);
  CHECK(on_value.cell.count == 5);
}

TEST_CASE("D1, D3: no put creates a key, with a token or without") {
  for (FillToken token : {FillToken{0}, FillToken{7}}) {
    const CountPutStep step = StepPut({}, PutOf(5, 10, token));
    CHECK(step.effect == Effect::kNothing);
    CHECK(step.cell.kind == CellKind::kAbsent);
  }
}

TEST_CASE("D4: a lease's own fill is stored from the minimum on and dropped below it") {
  for (int64_t version : {9, 10, 11}) {
    const CountPutStep step = StepPut(LeaseCell(7, 10), PutOf(5, version, 7));
    const bool is_stored = version >= 10;
    CHECK(step.effect == (is_stored ? Effect::kStored : Effect::kDroppedLease));
    CHECK(step.cell.kind == (is_stored ? CellKind::kValue : CellKind::kAbsent));
  }
}

TEST_CASE("D4: every other put on a lease raises the minimum and never lowers it") {
  for (FillToken token : {FillToken{0}, FillToken{8}}) {
    for (int64_t version : {9, 10, 11}) {
      const CountPutStep step = StepPut(LeaseCell(7, 10), PutOf(5, version, token));
      CHECK(step.effect == (version > 10 ? Effect::kRaisedMinimum : Effect::kNothing));
      CHECK(step.cell.kind == CellKind::kLease);
      CHECK(step.cell.token == 7);
      CHECK(step.cell.version == std::max<int64_t>(version, 10));
    }
  }
}

TEST_CASE("D4: a value is replaced by a newer version only, whatever the token") {
  for (FillToken token : {FillToken{0}, FillToken{7}}) {
    for (int64_t version : {9, 10, 11}) {
      const CountPutStep step = StepPut(ValueCell(5, 10), PutOf(6, version, token));
      CHECK(step.effect == (version > 10 ? Effect::kStored : Effect::kNothing));
      CHECK(step.cell.version == std::max<int64_t>(version, 10));
      CHECK(step.cell.count == (version > 10 ? 6 : 5));
    }
  }
}

TEST_CASE("an equal version that was read later is a refresh") {
  CountPut put = PutOf(5, 10);
  put.entry.read_at += absl::Nanoseconds(1);
  const CountPutStep step = StepPut(ValueCell(5, 10), put);
  CHECK(step.effect == Effect::kRefreshed);
  CHECK(step.cell.read_at == put.entry.read_at);
  CHECK(step.cell.count == 5);
}

TEST_CASE("a life is the time to live with jitter of 10 % to both sides, less the age") {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const absl::Duration ttl = absl::Seconds(1000);
  const auto near = [](absl::Duration life, double seconds) {
    return std::abs(absl::ToDoubleSeconds(life) - seconds) < 0.001;
  };
  CHECK(near(CountLife(ttl, absl::ZeroDuration(), 0), 900));
  CHECK(near(CountLife(ttl, absl::ZeroDuration(), kMost / 2), 1000));
  CHECK(near(CountLife(ttl, absl::ZeroDuration(), kMost), 1100));
  CHECK(near(CountLife(ttl, absl::Seconds(300), 0), 600));
  CHECK(CountLife(ttl, absl::Seconds(901), 0) == absl::ZeroDuration());
  CHECK(near(CountLife(ttl, absl::Seconds(-300), 0), 900));
}

}  // namespace
}  // namespace counter
