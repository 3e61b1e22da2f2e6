#include "storage/postgres/read_batcher.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>

namespace counter::postgres {
namespace {

using Batcher = ReadBatcher<int, int>;
using Answer = absl::StatusOr<ReadAnswers<int>>;

const MonotonicTime kNow(std::chrono::hours(1));
const absl::Time kAsOf = absl::FromUnixSeconds(5);

// Pushes a read; its answer goes to `out`.
bool Push(Batcher& batcher, std::vector<int> keys, std::optional<Answer>& out,
          const CallLimits& limits = {}) {
  Batcher::Done done = [&out](Answer answer) {
    REQUIRE_FALSE(out.has_value());
    out = std::move(answer);
  };
  return batcher.Push(std::move(keys), limits, done);
}

TEST_CASE("reads that wait together ask each key once and each gets its own answers in order") {
  Batcher batcher({});
  std::optional<Answer> first;
  std::optional<Answer> second;
  REQUIRE(Push(batcher, {1, 2, 1}, first));
  REQUIRE(Push(batcher, {2, 3}, second));
  CHECK(batcher.TakeBatch(kNow) == std::vector<int>{1, 2, 3});
  batcher.Complete({10, 20, 30}, kAsOf);
  CHECK((**first).answers == std::vector<int>{10, 20, 10});
  CHECK((**second).answers == std::vector<int>{20, 30});
  CHECK((**second).as_of == kAsOf);
  CHECK(batcher.idle());
  CHECK(batcher.keys() == 0);
}

TEST_CASE("a read never joins the batch in flight, even for the same key") {
  Batcher batcher({});
  std::optional<Answer> first;
  std::optional<Answer> second;
  REQUIRE(Push(batcher, {1}, first));
  REQUIRE(batcher.TakeBatch(kNow) == std::vector<int>{1});
  REQUIRE(Push(batcher, {1}, second));
  batcher.Complete({10}, kAsOf);
  CHECK(first.has_value());
  CHECK_FALSE(second.has_value());
  CHECK(batcher.TakeBatch(kNow) == std::vector<int>{1});
  batcher.Complete({11}, kAsOf);
  CHECK((**second).answers == std::vector<int>{11});
}

TEST_CASE("a batch has a limit of keys, but a larger read goes alone instead of never") {
  Batcher::Limits limits;
  limits.batch_keys_max = 3;
  Batcher batcher(limits);
  std::optional<Answer> answers[3];
  REQUIRE(Push(batcher, {1, 2}, answers[0]));
  REQUIRE(Push(batcher, {3, 4, 5, 6, 7}, answers[1]));
  REQUIRE(Push(batcher, {8}, answers[2]));
  CHECK(batcher.TakeBatch(kNow) == std::vector<int>{1, 2});
  batcher.Complete({0, 0}, kAsOf);
  CHECK(batcher.TakeBatch(kNow).size() == 5);
  batcher.Complete({0, 0, 0, 0, 0}, kAsOf);
  CHECK(batcher.TakeBatch(kNow) == std::vector<int>{8});
}

TEST_CASE("when full, a read is refused and its callback is left alone") {
  Batcher::Limits limits;
  limits.waiting_keys_max = 3;
  Batcher batcher(limits);
  std::optional<Answer> first;
  std::optional<Answer> second;
  REQUIRE(Push(batcher, {1, 2}, first));
  CHECK_FALSE(Push(batcher, {3, 4}, second));
  CHECK_FALSE(second.has_value());
  CHECK(Push(batcher, {3}, second));
}

TEST_CASE("a failure that may pass is tried again, but not for ever") {
  Batcher::Limits limits;
  limits.attempts_max = 3;
  Batcher batcher(limits);
  std::optional<Answer> answer;
  REQUIRE(Push(batcher, {1}, answer));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    CHECK_FALSE(answer.has_value());
    REQUIRE(batcher.TakeBatch(kNow) == std::vector<int>{1});
    batcher.Fail(absl::UnavailableError("x"), true);
  }
  REQUIRE(answer.has_value());
  CHECK(answer->status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("a failure that will not pass ends the reads of the batch and no others") {
  Batcher batcher({});
  std::optional<Answer> in_flight;
  std::optional<Answer> waits;
  REQUIRE(Push(batcher, {1}, in_flight));
  batcher.TakeBatch(kNow);
  REQUIRE(Push(batcher, {1}, waits));
  batcher.Fail(absl::InternalError("x"), false);
  CHECK(in_flight.has_value());
  CHECK_FALSE(waits.has_value());
}

TEST_CASE("an expired or cancelled read ends once, whether it waits or is in flight") {
  Batcher batcher({});
  CallLimits short_limits;
  short_limits.deadline = kNow + absl::Seconds(1);
  CallLimits cancelled;
  cancelled.cancellation = Cancellation::Make();
  std::optional<Answer> expires_in_flight;
  std::optional<Answer> other;
  REQUIRE(Push(batcher, {1}, expires_in_flight, short_limits));
  REQUIRE(Push(batcher, {2}, other, cancelled));
  REQUIRE(batcher.TakeBatch(kNow).size() == 2);
  cancelled.cancellation.Cancel();
  batcher.DropUnwanted(kNow + absl::Seconds(1));
  REQUIRE(expires_in_flight.has_value());
  CHECK(ReasonOf(expires_in_flight->status()) == ErrorReason::kDeadlineExceeded);
  REQUIRE(other.has_value());
  CHECK(ReasonOf(other->status()) == ErrorReason::kCancelled);
  CHECK(batcher.in_batch());
  batcher.Complete({10, 20}, kAsOf);  // Nobody wants it any more.
  CHECK_FALSE(batcher.in_batch());
}

TEST_CASE("a read that expired before the batch left costs no key") {
  Batcher batcher({});
  CallLimits limits;
  limits.deadline = kNow;
  std::optional<Answer> late;
  std::optional<Answer> other;
  REQUIRE(Push(batcher, {1}, late, limits));
  REQUIRE(Push(batcher, {2}, other));
  CHECK(batcher.TakeBatch(kNow) == std::vector<int>{2});
  CHECK(late.has_value());
}

TEST_CASE("FailAll ends everything, in flight too, and the late answer hurts nobody") {
  Batcher batcher({});
  std::optional<Answer> first;
  std::optional<Answer> second;
  REQUIRE(Push(batcher, {1}, first));
  batcher.TakeBatch(kNow);
  REQUIRE(Push(batcher, {2}, second));
  batcher.FailAll(absl::UnavailableError("x"));
  CHECK(first.has_value());
  CHECK(second.has_value());
  batcher.Complete({10}, kAsOf);
  CHECK(batcher.idle());
}

}  // namespace
}  // namespace counter::postgres
