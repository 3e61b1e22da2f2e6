// A watch against a scripted server: what it tells, how it goes on, and how it ends.
#include "clients/cpp/watch.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cpp/scripted_server.h"
#include "clients/cpp/watch_state.h"

namespace counter::client {
namespace {

using Tokens = std::vector<std::string>;

const Item kPost = {"post", 7};

Error Of(ErrorKind kind) {
  Error error;
  error.kind = kind;
  return error;
}

CountsUpdate Message(int64_t count, bool snapshot) {
  ItemCount one;
  one.item = kPost;
  one.count = count;
  one.consistency_token = absl::StrCat("t", count);
  return {{one}, snapshot};
}

TEST_CASE("watch state: it goes on from the newest it has told, and from what its caller knew") {
  WatchState state({"mine"}, true);
  CHECK(state.Begin() == Tokens{"mine"});
  CHECK(state.Take(Message(1, true))->snapshot);
  CHECK(state.Take(Message(2, false))->counts.at(0).count == 2);
  REQUIRE(state.PauseAfter(Of(ErrorKind::kUnavailable)).has_value());
  CHECK(state.Begin() == Tokens{"t2", "mine"});
  // Nothing was missed, which is nothing to tell; or something was, which is no snapshot.
  CHECK_FALSE(state.Take({{}, true}).has_value());
  REQUIRE(state.PauseAfter(Of(ErrorKind::kOverloaded)).has_value());
  state.Begin();
  CHECK_FALSE(state.Take(Message(3, true))->snapshot);
}

TEST_CASE("watch state: in another history it begins anew, once") {
  WatchState state({"mine"}, true);
  state.Begin();
  // Also before it has stood: the caller's token is of that history.
  REQUIRE(state.PauseAfter(Of(ErrorKind::kOutOfRange)).has_value());
  CHECK(state.Begin().empty());
  CHECK_FALSE(state.PauseAfter(Of(ErrorKind::kOutOfRange)).has_value());
  CHECK(state.Take(Message(5, true))->snapshot);
  REQUIRE(state.PauseAfter(Of(ErrorKind::kOutOfRange)).has_value());
  CHECK(state.Begin().empty());
  CHECK(state.Take(Message(4, true))->snapshot);
}

TEST_CASE("watch state: what never stood, what cannot be mended and what may not go on ends") {
  WatchState never({}, true);
  never.Begin();
  CHECK_FALSE(never.PauseAfter(Of(ErrorKind::kUnavailable)).has_value());
  WatchState stood({}, true);
  stood.Begin();
  stood.Take(Message(1, true));
  for (const ErrorKind kind : {ErrorKind::kInvalidArgument, ErrorKind::kDeadlineExceeded,
                               ErrorKind::kCancelled, ErrorKind::kPermissionDenied}) {
    CHECK_FALSE(stood.PauseAfter(Of(kind)).has_value());
  }
  WatchState once({}, false);
  once.Begin();
  once.Take(Message(1, true));
  CHECK_FALSE(once.PauseAfter(Of(ErrorKind::kUnavailable)).has_value());
}

TEST_CASE("watch state: pauses double up to a second, begin anew, and are the server's if longer") {
  WatchState state({}, true);
  state.Begin();
  state.Take(Message(1, true));
  absl::Duration expected = WatchState::kPauseFirst;
  for (int i = 0; i < 8; ++i) {
    const absl::Duration pause = state.PauseAfter(Of(ErrorKind::kUnavailable)).value();
    CHECK(pause >= 0.79 * expected);
    CHECK(pause <= 1.21 * expected);
    expected = std::min(2 * expected, WatchState::kPauseMax);
  }
  Error patient = Of(ErrorKind::kOverloaded);
  patient.retry_after = absl::Seconds(7);
  CHECK(state.PauseAfter(patient) == absl::Seconds(7));
  state.Take(Message(2, false));
  CHECK(state.PauseAfter(Of(ErrorKind::kUnavailable)).value() <= 1.21 * WatchState::kPauseFirst);
}

TEST_CASE("watch state: the first update is told even if its caller knew it all") {
  WatchState state({"mine"}, true);
  state.Begin();
  const std::optional<CountsUpdate> update = state.Take({{}, true});
  REQUIRE(update.has_value());
  CHECK(update->snapshot);
}

TEST_CASE("watch state: a store that is away after it got another history ends no watch") {
  WatchState state({}, true);
  state.Begin();
  state.Take(Message(1, true));
  REQUIRE(state.PauseAfter(Of(ErrorKind::kOutOfRange)).has_value());
  state.Begin();
  REQUIRE(state.PauseAfter(Of(ErrorKind::kUnavailable)).has_value());
  state.Begin();
  CHECK(state.Take(Message(2, true))->snapshot);
}

TEST_CASE("watch state: it goes on with no more tokens than a request may carry") {
  WatchState state(Tokens(WatchState::kTokensMax, "mine"), true);
  CHECK(state.Begin().size() == WatchState::kTokensMax);
  state.Take(Message(1, true));
  const Tokens tokens = state.Begin();
  CHECK(tokens.size() == WatchState::kTokensMax);
  CHECK(tokens.front() == "t1");
}

// Each stream tells the next count and ends with `end`, or stands until it is cancelled if that is
// OK.
struct CountingStreams {
  explicit CountingStreams(ScriptedServer& server) {
    server.on_watch_counts = [this](grpc::ServerContext& context,
                                    const v1::WatchCountsRequest& request,
                                    grpc::ServerWriter<v1::WatchCountsResponse>& writer) {
      grpc::Status status;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        asked.emplace_back(request.consistency_tokens().begin(),
                           request.consistency_tokens().end());
        if (!ends.empty()) status = ends.front();
        if (!ends.empty()) ends.erase(ends.begin());
        v1::WatchCountsResponse response;
        response.set_snapshot(true);
        v1::ItemCount& out = *response.add_counts();
        *out.mutable_item() = request.items(0);
        out.set_count(++count);
        out.set_consistency_token(absl::StrCat("t", count));
        writer.Write(response);
      }
      while (status.ok() && !context.IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
      return status.ok() ? grpc::Status::CANCELLED : status;
    };
  }

  std::mutex mutex;
  std::vector<Tokens> asked;
  std::vector<grpc::Status> ends;
  int64_t count = 0;
};

grpc::Status Unavailable() { return MakeStatus(grpc::UNAVAILABLE, "it goes", "SHUTTING_DOWN"); }

TEST_CASE("A watch goes on after its server went, and anew in another history") {
  ScriptedServer server;
  CountingStreams streams(server);
  streams.ends = {Unavailable(),
                  MakeStatus(grpc::OUT_OF_RANGE, "another history", "RESUME_OUT_OF_RANGE")};
  const Client client = Client::Connect({.target = server.target()});
  Watch watch = client.WatchCounts({kPost}, {.consistency_tokens = {"mine"}});
  for (int64_t count = 1; count <= 3; ++count) {
    const Result<CountsUpdate> update = watch.Next();
    REQUIRE(update.ok());
    CHECK(update->counts.at(0).item == kPost);
    CHECK(update->counts.at(0).count == count);
    CHECK(update->snapshot == (count != 2));
  }
  const std::lock_guard<std::mutex> lock(streams.mutex);
  CHECK(streams.asked == std::vector<Tokens>{{"mine"}, {"t1", "mine"}, {}});
}

TEST_CASE("A watch that may not go on ends with what broke it, and then always") {
  ScriptedServer server;
  CountingStreams streams(server);
  streams.ends = {Unavailable(), Unavailable()};
  const bool with_retries = GENERATE(false, true);
  const Client client = Client::Connect({.target = server.target(), .retries = with_retries});
  Watch watch = client.WatchCounts({kPost}, {.resumes = !with_retries});
  REQUIRE(watch.Next().ok());
  for (int i = 0; i < 2; ++i) {
    const Result<CountsUpdate> ended = watch.Next();
    REQUIRE_FALSE(ended.ok());
    CHECK(ended.error().kind == ErrorKind::kUnavailable);
    CHECK(ended.error().reason == "SHUTTING_DOWN");
  }
  CHECK(streams.asked.size() == 1);
}

TEST_CASE("A watch that waits is ended by Stop, from any thread, and by going away") {
  ScriptedServer server;
  CountingStreams streams(server);
  const Client client = Client::Connect({.target = server.target()});
  Watch watch = client.WatchCounts({kPost});
  REQUIRE(watch.Next().ok());
  std::thread stopper([&watch] { watch.Stop(); });
  const Result<CountsUpdate> ended = watch.Next();
  stopper.join();
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().kind == ErrorKind::kCancelled);
  Watch left = client.WatchCounts({kPost});
  REQUIRE(left.Next().ok());
}

TEST_CASE("A watch that waits for a server is ended by Stop") {
  // Nobody listens there.
  const Client client = Client::Connect({.target = "127.0.0.1:1"});
  Watch watch = client.WatchCounts({kPost});
  std::thread stopper([&watch] {
    absl::SleepFor(absl::Milliseconds(50));  // Either order is right; mostly it waits by then.
    watch.Stop();
  });
  const Result<CountsUpdate> ended = watch.Next();
  stopper.join();
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().kind == ErrorKind::kCancelled);
}

TEST_CASE("A watch that rests before it goes on is ended by Stop, and by its deadline") {
  ScriptedServer server;
  CountingStreams streams(server);
  google::rpc::RetryInfo patience;
  patience.mutable_retry_delay()->set_seconds(3600);
  streams.ends = {MakeStatus(grpc::RESOURCE_EXHAUSTED, "it is full", "OVERLOADED", {&patience})};
  const Client client = Client::Connect({.target = server.target()});
  const bool has_deadline = GENERATE(false, true);
  CallOptions call;
  if (has_deadline) call.deadline = absl::Seconds(2);
  Watch watch = client.WatchCounts({kPost}, {}, call);
  REQUIRE(watch.Next().ok());
  std::thread stopper([&watch, has_deadline] {
    absl::SleepFor(absl::Milliseconds(50));  // Either order is right; mostly it rests by then.
    if (!has_deadline) watch.Stop();
  });
  const Result<CountsUpdate> ended = watch.Next();
  stopper.join();
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().kind ==
        (has_deadline ? ErrorKind::kDeadlineExceeded : ErrorKind::kCancelled));
  // It has not asked again, for a moment before its time was over.
  CHECK(streams.asked.size() == 1);
}

TEST_CASE("A watch stands longer than a call may, and ends at its own deadline") {
  ScriptedServer server;
  CountingStreams streams(server);
  const Client client =
      Client::Connect({.target = server.target(), .deadline = absl::Milliseconds(1)});
  Watch watch = client.WatchCounts({kPost}, {}, {.deadline = absl::Seconds(2)});
  REQUIRE(watch.Next().ok());
  const Result<CountsUpdate> ended = watch.Next();
  REQUIRE_FALSE(ended.ok());
  CHECK(ended.error().kind == ErrorKind::kDeadlineExceeded);
}

TEST_CASE("A watch that cannot be asked for fails at once and sends nothing") {
  ScriptedServer server;
  CountingStreams streams(server);
  const Client client = Client::Connect({.target = server.target()});
  Watch watch = client.WatchCounts({kPost}, {}, {.request_id = "not allowed"});
  const Result<CountsUpdate> refused = watch.Next();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::kInvalidArgument);
  CHECK(streams.asked.empty());
}

}  // namespace
}  // namespace counter::client
