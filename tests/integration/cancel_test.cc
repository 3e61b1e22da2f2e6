// Callers that go away: K02 of the fault list.
#include <grpcpp/completion_queue.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/integration/fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/test_settings.h"
#include "tests/support/workers.h"

namespace counter::testing {
namespace {

using Stub = v1::CounterService::Stub;

constexpr int kWorkers = 8;

// Starts one call and cancels it after `patience`, if it has not ended by then. The code it ended
// with.
template <class Request, class Response>
grpc::StatusCode CallAndCancel(Stub& stub,
                               std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (
                                   Stub::*prepare)(grpc::ClientContext*, const Request&,
                                                   grpc::CompletionQueue*),
                               const Request& request, absl::Duration patience) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
  Response response;
  grpc::Status status;
  auto reader = (stub.*prepare)(&context, request, &queue);
  reader->StartCall();
  reader->Finish(&response, &status, &status);
  void* tag = nullptr;
  bool ok = false;
  const auto end = absl::ToChronoTime(absl::Now() + patience);
  if (queue.AsyncNext(&tag, &ok, end) == grpc::CompletionQueue::TIMEOUT) {
    context.TryCancel();
    queue.Next(&tag, &ok);
  }
  queue.Shutdown();
  return status.error_code();
}

struct Seen {
  std::vector<int64_t> liked;  // Posts whose like was acknowledged.
  int cancelled = 0;
  std::vector<grpc::StatusCode> unexpected;
};

void CancelAtRandom(const std::shared_ptr<grpc::Channel>& channel, int worker, int calls,
                    Seen& seen) {
  std::mt19937_64 random(TestSeed() + static_cast<uint64_t>(worker));
  Stub stub(channel);
  const int64_t user = 1 + worker;
  for (int i = 0; i < calls; ++i) {
    // Short enough to cancel before the handler, long enough to meet the write or the reply.
    const int patience_max_us = i % 2 == 0 ? 3'000 : 60'000;
    const absl::Duration patience = absl::Microseconds(random() % patience_max_us);
    const int64_t post = 1 + worker * calls + i;
    grpc::StatusCode code = grpc::UNKNOWN;
    if (i % 4 == 0) {
      v1::WriteLikesRequest request;
      for (int n = 1; n <= 100; ++n) {
        v1::Mutation& mutation = *request.add_mutations();
        mutation.set_user_id(1'000'000 + n);
        mutation.mutable_item()->set_item_type("reel");
        mutation.mutable_item()->set_item_id(1 + static_cast<int64_t>(random() % 50));
        mutation.set_action(n % 2 == 0 ? v1::ACTION_LIKE : v1::ACTION_UNLIKE);
      }
      code = CallAndCancel(stub, &Stub::PrepareAsyncWriteLikes, request, patience);
    } else if (i % 4 == 1) {
      v1::GetCountRequest request;
      *request.mutable_item() = LikeRequestOf(1, Post(post)).item();
      request.set_consistency(v1::CONSISTENCY_STRONG);
      code = CallAndCancel(stub, &Stub::PrepareAsyncGetCount, request, patience);
    } else {
      code =
          CallAndCancel(stub, &Stub::PrepareAsyncLike, LikeRequestOf(user, Post(post)), patience);
      if (code == grpc::OK) seen.liked.push_back(post);
    }
    if (code == grpc::CANCELLED) ++seen.cancelled;
    if (code != grpc::OK && code != grpc::CANCELLED) seen.unexpected.push_back(code);
  }
}

TEST_CASE(
    "Calls cancelled at random points leave nothing behind, and what was acknowledged stays") {
  auto server = StartServer();
  const int calls_each = Sized(1600, 10'000) / kWorkers;
  std::array<Seen, kWorkers> seen;
  {
    const auto channel = ChannelTo(*server);
    RunWorkers(kWorkers, [&](int worker) {
      CancelAtRandom(channel, worker, calls_each, seen[static_cast<size_t>(worker)]);
    });
  }
  REQUIRE(server->process().Running());

  int cancelled = 0;
  int acknowledged = 0;
  const Client client = ConnectTo(*server);
  for (int worker = 0; worker < kWorkers; ++worker) {
    const Seen& of = seen[static_cast<size_t>(worker)];
    cancelled += of.cancelled;
    acknowledged += static_cast<int>(of.liked.size());
    CHECK(of.unexpected.empty());
    std::vector<client::Item> items;
    for (const int64_t post : of.liked) items.push_back(Post(post));
    for (size_t begin = 0; begin < items.size(); begin += 1000) {
      const size_t end = std::min(items.size(), begin + 1000);
      const auto liked = client.HasLiked(1 + worker,
                                         {items.begin() + static_cast<std::ptrdiff_t>(begin),
                                          items.begin() + static_cast<std::ptrdiff_t>(end)},
                                         {.consistency = client::Consistency::kStrong});
      REQUIRE(liked.ok());
      CHECK(liked->liked == std::vector<bool>(end - begin, true));
    }
  }
  // Otherwise the case did not try what it says.
  CHECK(cancelled > kWorkers * calls_each / 20);
  CHECK(acknowledged > 0);
  CHECK(Eventually(absl::Seconds(5),
                   [&] { return MetricOf(*server, "counter_calls_in_flight") == 0; }));
  StopServer(*server);
  RequireSoundStore(*server);
}

}  // namespace
}  // namespace counter::testing
