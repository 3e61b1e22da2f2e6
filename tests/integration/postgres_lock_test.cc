// Callers who give up: known fault K03, on two servers over one PostgreSQL.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/full_stack.h"
#include "tests/support/eventually.h"
#include "tests/support/raw_http2.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using LikeCall = EndedCall<v1::LikeResponse>;

constexpr char kLikePath[] = "/counter.v1.CounterService/Like";

int64_t Number(const std::string& text) {
  int64_t number = 0;
  REQUIRE(absl::SimpleAtoi(text, &number));
  return number;
}

// How many statements that like PostgreSQL has run to their end.
int64_t LikeStatements(const FullStack& stack) {
  return Number(
      stack.Sql("SELECT coalesce(sum(calls), 0)::int8 FROM pg_stat_statements s JOIN pg_database d "
                "ON d.oid = s.dbid WHERE d.datname = current_database() AND query LIKE "
                "'%INSERT INTO user_likes%' AND query NOT LIKE '%pg_stat_statements%'"));
}

double SumOf(FullStack& stack, const std::string& metric, const MetricsText::Labels& labels) {
  double sum = 0;
  for (int i = 0; i < FullStack::kServers; ++i) sum += MetricOf(stack.server(i), metric, labels);
  return sum;
}

// Likes that left the queue because nobody waited for them any more.
double Dropped(FullStack& stack) {
  return SumOf(stack, "counter_mutations_dropped_total", {{"reason", "DEADLINE_EXCEEDED"}}) +
         SumOf(stack, "counter_mutations_dropped_total", {{"reason", "CANCELLED"}});
}

// Calls that came too late for anything.
double Late(FullStack& stack) {
  return SumOf(stack, "counter_calls_refused_total", {{"reason", "DEADLINE_EXCEEDED"}});
}

// Calls that would have waited past their deadline, and were told so at once.
double Refused(FullStack& stack) {
  return SumOf(stack, "grpc_server_handled_total",
               {{"grpc_method", "Like"}, {"grpc_code", "ResourceExhausted"}});
}

double Arrived(FullStack& stack) {
  return SumOf(stack, "grpc_server_started_total", {{"grpc_method", "Like"}});
}

std::vector<v1::LikeRequest> LikesOfPost1(int64_t first_user, int users) {
  std::vector<v1::LikeRequest> requests;
  for (int64_t user = first_user; user < first_user + users; ++user)
    requests.push_back(LikeRequestOf(user, Post(1)));
  return requests;
}

TEST_CASE(
    "K03: callers behind a locked row end by their deadline, and what was not sent is never run") {
  FullStack stack;
  stack.Sql("CREATE EXTENSION pg_stat_statements");
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  auto psql = stack.postgres().PsqlProcess(
      stack.database(),
      "BEGIN; SELECT FROM counters WHERE item_id = 1 FOR UPDATE; SELECT pg_sleep(600)");
  REQUIRE(psql.ok());
  REQUIRE(Eventually(absl::Seconds(20), [&] {
    return stack.Sql(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND "
               "datname = current_database()") == "1";
  }));
  const absl::Time locked = absl::Now();
  const int64_t statements_before = LikeStatements(stack);
  const double arrived_before = Arrived(stack);

  constexpr int kWaves = 10;
  constexpr int kCallsEach = 100;  // At once, to each server.
  constexpr absl::Duration kDeadline = absl::Milliseconds(200);
  std::vector<std::vector<LikeCall>> hurried(FullStack::kServers);
  std::vector<LikeCall> patient;
  constexpr int kPatient = 49;
  // These have time; the one of post 1 waits for the lock, the others must not.
  std::thread others([&] {
    std::vector<v1::LikeRequest> requests = {LikeRequestOf(2, Post(1))};
    for (int64_t post = 2; post <= kPatient; ++post)
      requests.push_back(LikeRequestOf(2, Post(post)));
    patient = CallAtOnce(ChannelTo(stack.server(0)), &v1::CounterService::Stub::PrepareAsyncLike,
                         requests, absl::Seconds(60));
  });
  RunWorkers(FullStack::kServers, [&](int worker) {
    const auto channel = ChannelTo(stack.server(worker));
    for (int wave = 0; wave < kWaves; ++wave) {
      const int64_t first_user = 1000 + (worker * kWaves + wave) * kCallsEach;
      std::vector<LikeCall> calls = CallAtOnce(channel, &v1::CounterService::Stub::PrepareAsyncLike,
                                               LikesOfPost1(first_user, kCallsEach), kDeadline);
      for (LikeCall& call : calls) hurried[static_cast<size_t>(worker)].push_back(std::move(call));
    }
  });
  absl::SleepFor(locked + absl::Seconds(Sized(3, 10)) - absl::Now());
  // The server would not notice that psql is gone.
  const auto unlocked = stack.postgres().Psql(
      stack.database(),
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND "
      "datname = current_database()");
  others.join();
  REQUIRE(unlocked.ok());

  for (const auto& calls : hurried) {
    for (const LikeCall& call : calls) {
      // What would have to wait for longer is refused before.
      REQUIRE((call.status.error_code() == grpc::DEADLINE_EXCEEDED ||
               call.status.error_code() == grpc::RESOURCE_EXHAUSTED));
      // The lock stands much longer; the rest is for a busy machine.
      REQUIRE(call.took < kDeadline + absl::Milliseconds(1500) * Slowness());
    }
  }
  for (const LikeCall& call : patient) {
    CAPTURE(call.status.error_message());
    // Only the one behind the lock may be told that the store could not do it.
    CHECK((call.status.ok() ||
           (&call == &patient[0] && call.status.error_code() == grpc::UNAVAILABLE)));
  }
  CHECK(stack.postgres().CountLog(" 57014 ") == 0);

  // Each that arrived was refused or dropped, or was in a batch that was on its way already.
  const auto executed = [&] {
    return static_cast<double>(
        Number(stack.Sql("SELECT count(*) FROM user_likes WHERE user_id >= 1000")));
  };
  const double arrived = Arrived(stack) - arrived_before - kPatient;
  CHECK(arrived > kWaves * kCallsEach);
  CHECK(Eventually(absl::Seconds(10) * Slowness(), [&] {
    return Refused(stack) + Dropped(stack) + Late(stack) + executed() == arrived;
  }));
  CHECK(Dropped(stack) > 0);
  constexpr int kInFlightMax = FullStack::kServers * 2 * kCallsEach;  // Two units a lane.
  CHECK(executed() <= kInFlightMax);
  // Units in flight, those of the patient calls, and the halves of units that held both.
  CHECK(LikeStatements(stack) - statements_before < 40);
  CHECK(Eventually(absl::Seconds(5), [&] {
    return MetricOf(stack.server(0), "counter_calls_in_flight") == 0 &&
           MetricOf(stack.server(1), "counter_calls_in_flight") == 0;
  }));
  for (int i = 0; i < FullStack::kServers; ++i) CHECK(stack.client(i).Like(3, Post(1)).ok());
  stack.RequireSound();
}

TEST_CASE("K03: a call that arrives after its deadline causes no statement at all") {
  FullStack stack;
  stack.Sql("CREATE EXTENSION pg_stat_statements");
  REQUIRE(stack.client(0).Like(1, Post(1)).ok());
  REQUIRE(stack.client(1).Like(1, Post(1)).ok());
  const int64_t before = LikeStatements(stack);
  REQUIRE(before >= 2);
  const auto call = [&](int server, int64_t user, const std::string& timeout) {
    const auto reply =
        RawHttp2Call(stack.server(server).grpc_port(), kLikePath, {{"grpc-timeout", timeout}},
                     LikeRequestOf(user, Post(1)).SerializeAsString());
    REQUIRE(reply.ok());
    return !reply->data.empty();
  };
  for (int64_t user = 2; user < 100; ++user)
    CHECK_FALSE(call(static_cast<int>(user % 2), user, "0n"));
  CHECK(LikeStatements(stack) == before);
  // It was the deadline that kept them out.
  for (int i = 0; i < FullStack::kServers; ++i) CHECK(call(i, 1000 + i, "5S"));
  CHECK(LikeStatements(stack) == before + 2);
  CHECK(stack.Sql("SELECT count(*) FROM user_likes") == "3");
  stack.RequireSound();
}

}  // namespace
}  // namespace counter::testing
