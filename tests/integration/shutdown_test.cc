// The end of the process: K01 of the fault list.
#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "clients/cpp/health.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using client::ErrorKind;
using client::Item;

constexpr int kDrainSeconds = 5;

// A call whose request never comes: the server has its headers and waits.
class HalfOpenCall {
 public:
  explicit HalfOpenCall(const CounterServer& server) : stub_(ChannelTo(server)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    call_ = stub_.PrepareCall(&context_, "/counter.v1.CounterService/Like", &queue_);
    call_->StartCall(this);
    Next();
  }
  ~HalfOpenCall() {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, this);
    Next();
    queue_.Shutdown();
  }

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

// What one caller saw until its first call that failed.
struct Caller {
  std::vector<int64_t> acknowledged;  // Ids of posts.
  std::optional<client::Error> error;
};

// Likes posts one after the other until a call fails. Every third like is of one hot post.
void LikeUntilRefused(const Client& client, int64_t user, Caller& caller) {
  for (int64_t id = 2; id <= 1000; ++id) {
    const int64_t post = id == 2 ? 1 : id;
    const auto reply = client.Like(user, Post(post), {.deadline = absl::Seconds(20)});
    if (!reply.ok()) {
      caller.error = reply.error();
      return;
    }
    caller.acknowledged.push_back(post);
  }
}

// The posts of `posts` that the user does not like, in the store.
std::vector<int64_t> Lost(const Client& client, int64_t user, const std::vector<int64_t>& posts) {
  std::vector<Item> items;
  for (const int64_t post : posts) items.push_back(Post(post));
  const auto liked = client.HasLiked(user, items, {.consistency = client::Consistency::kStrong});
  if (!liked.ok()) return posts;
  std::vector<int64_t> lost;
  for (size_t i = 0; i < posts.size(); ++i) {
    if (!liked->liked[i]) lost.push_back(posts[i]);
  }
  return lost;
}

TEST_CASE("SIGTERM under load: exit 0 in time, every call ends, every OK is in the store") {
  const int rounds = Sized(3, 500);
  constexpr int kCallers = 200;
  std::mt19937_64 random(TestSeed());
  auto server = StartServer({{"DRAIN_SECONDS", absl::StrCat(kDrainSeconds)}});
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) RestartServer(*server);
    const int64_t first_user = 1 + round * kCallers;
    std::vector<Caller> callers(kCallers);
    absl::Duration exit_took;
    std::optional<ExitStatus> exit;
    {
      const Client client = ConnectTo(*server);
      std::jthread load([&] {
        RunWorkers(kCallers, [&](int i) {
          LikeUntilRefused(client, first_user + i, callers[static_cast<size_t>(i)]);
        });
      });
      absl::SleepFor(absl::Milliseconds(random() % 301));
      const absl::Time signalled = absl::Now();
      server->Terminate();
      exit = server->WaitExit(absl::Seconds(kDrainSeconds + 1) * Slowness());
      exit_took = absl::Now() - signalled;
    }
    CAPTURE(round, absl::FormatDuration(exit_took), server->Log());
    REQUIRE(exit == ExitStatus{0, 0});

    RestartServer(*server);
    const Client client = ConnectTo(*server);
    int acknowledged = 0;
    for (int i = 0; i < kCallers; ++i) {
      const Caller& caller = callers[static_cast<size_t>(i)];
      acknowledged += static_cast<int>(caller.acknowledged.size());
      REQUIRE(Lost(client, first_user + i, caller.acknowledged).empty());
      // A refusal by the draining server or a connection that it closed; nothing else.
      if (caller.error.has_value()) {
        INFO(caller.error->ToString());
        REQUIRE(caller.error->kind == ErrorKind::kUnavailable);
      }
    }
    CAPTURE(acknowledged);
    StopServer(*server);
  }
  RequireSoundStore(*server);
}

TEST_CASE("A call that says nothing does not hold the end up beyond the drain budget") {
  auto server = StartServer({{"DRAIN_SECONDS", "1"}});
  const HalfOpenCall silent(*server);
  server->Terminate();
  CHECK(server->WaitExit(absl::Seconds(2) * Slowness()) == ExitStatus{0, 0});
}

TEST_CASE("A second signal ends a server that drains at once") {
  auto server = StartServer({{"DRAIN_SECONDS", "60"}});
  const HalfOpenCall silent(*server);
  server->Terminate();
  // It drains, and would for a minute: no new connection is taken any more.
  REQUIRE(Eventually(absl::Seconds(5) * Slowness(), [&] {
    const client::HealthProbe probe(server->target());
    const auto health = probe.Check("", absl::Seconds(1));
    return !health.ok() || *health != client::Health::kServing;
  }));
  if (!server->process().Running()) return;  // Nothing held it: it had no reason to wait.
  server->Terminate();
  const auto exit = server->WaitExit(absl::Seconds(1) * Slowness());
  REQUIRE(exit.has_value());
  CHECK((exit == ExitStatus{128 + SIGTERM, 0} || exit == ExitStatus{-1, SIGTERM}));
  RestartServer(*server);
  StopServer(*server);
}

TEST_CASE("SIGTERM before the server is ready ends it, and it starts again") {
  std::mt19937_64 random(TestSeed());
  const int rounds = Sized(20, 200);
  for (int round = 0; round < rounds; ++round) {
    CounterServer::Options options;
    absl::StatusOr<std::unique_ptr<CounterServer>> server =
        CounterServer::StartUnready(std::move(options));
    REQUIRE(server.ok());
    absl::SleepFor(absl::Microseconds(random() % 30'000));
    (*server)->Terminate();
    const auto exit = (*server)->WaitExit(absl::Seconds(3) * Slowness());
    CAPTURE(round, (*server)->Log());
    REQUIRE(exit.has_value());
    // Before its first line of code the signal's default applies.
    REQUIRE((exit == ExitStatus{0, 0} || exit == ExitStatus{-1, SIGTERM}));
    if (round == 0) {
      REQUIRE((*server)->Restart().ok());
      StopServer(**server);
    }
  }
}

TEST_CASE("A server that got no call at all starts and stops") {
  auto server = StartServer();
  StopServer(*server);
  RequireSoundStore(*server);
}

}  // namespace
}  // namespace counter::testing
