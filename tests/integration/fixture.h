// What the tests on the real server share: a server for a case, ways to call it, and likes that are
// kept track of.
//
// Functions that start something fail the case (REQUIRE) if they cannot: call them on the test's
// thread. The rest is for any thread.
#ifndef COUNTER_TESTS_INTEGRATION_FIXTURE_H_
#define COUNTER_TESTS_INTEGRATION_FIXTURE_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "counter/v1/counter.grpc.pb.h"
#include "tests/support/counter_server.h"

namespace counter::testing {

using Settings = std::map<std::string, std::string>;

// A ready server on an empty data folder, with the rate limit off unless `settings` says otherwise.
std::unique_ptr<CounterServer> StartServer(const Settings& settings = {});

// Starts a server that has ended again, on its data and ports; fails the case if it does not come.
void RestartServer(CounterServer& server);

// A client without retries: what a test counts are calls, not attempts. Deadline 10 s.
Client ConnectTo(const CounterServer& server);

// A plain channel, for what the client cannot say (cancellation, wrong requests).
std::shared_ptr<grpc::Channel> ChannelTo(const CounterServer& server);

// SIGTERM, and fails the case unless the server exits with 0 in time.
void StopServer(CounterServer& server);

// Fails the case unless in the data folder of `server`, which has ended, every count and every
// digest equals the likes that are stored.
void RequireSoundStore(const CounterServer& server);

// The value of a metric summed over the series that carry `labels`; fails the case if there is no
// answer.
double MetricOf(const CounterServer& server, const std::string& name,
                const MetricsText::Labels& labels = {});

client::Item Post(int64_t id);
v1::LikeRequest LikeRequestOf(int64_t user_id, const client::Item& item);
v1::UnlikeRequest UnlikeRequestOf(int64_t user_id, const client::Item& item);
// Likes of the item by users 1 to `users`.
std::vector<client::Mutation> LikesOf(const client::Item& item, int64_t users);

// The count read from the primary store; fails the case if there is no answer.
int64_t StrongCount(const Client& client, const client::Item& item);
// Whether the pair is liked, read from the primary store.
bool StronglyLiked(const Client& client, int64_t user_id, const client::Item& item);

// How one of many calls ended.
template <class Response>
struct EndedCall {
  grpc::Status status;
  Response response;
  absl::Duration took;
  bool not_applied = false;
};

// Sends all requests at once, without waiting in between, and waits for all answers; answer i is of
// requests[i], which goes through channel i modulo their number. `prepare` is the stub's method:
// &v1::CounterService::Stub::PrepareAsyncLike.
template <class Request, class Response>
std::vector<EndedCall<Response>> CallAtOnce(
    const std::vector<std::shared_ptr<grpc::Channel>>& channels,
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (v1::CounterService::Stub::*prepare)(
        grpc::ClientContext*, const Request&, grpc::CompletionQueue*),
    const std::vector<Request>& requests, absl::Duration deadline = absl::Seconds(10)) {
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  };
  std::vector<std::unique_ptr<v1::CounterService::Stub>> stubs;
  for (const auto& channel : channels)
    stubs.push_back(std::make_unique<v1::CounterService::Stub>(channel));
  grpc::CompletionQueue queue;
  std::vector<Call> calls(requests.size());
  std::vector<EndedCall<Response>> ended(requests.size());
  const absl::Time start = absl::Now();
  for (size_t i = 0; i < requests.size(); ++i) {
    v1::CounterService::Stub& stub = *stubs[i % stubs.size()];
    calls[i].context.set_deadline(absl::ToChronoTime(start + deadline));
    calls[i].reader = (stub.*prepare)(&calls[i].context, requests[i], &queue);
    calls[i].reader->StartCall();
    calls[i].reader->Finish(&ended[i].response, &ended[i].status, &ended[i]);
  }
  for (size_t left = requests.size(); left > 0; --left) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    static_cast<EndedCall<Response>*>(tag)->took = absl::Now() - start;
  }
  queue.Shutdown();
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& trailers = calls[i].context.GetServerTrailingMetadata();
    const auto outcome = trailers.find("outcome");
    ended[i].not_applied = outcome != trailers.end() && outcome->second == "not-applied";
  }
  return ended;
}
// The same through one channel.
template <class Request, class Response>
std::vector<EndedCall<Response>> CallAtOnce(
    const std::shared_ptr<grpc::Channel>& channel,
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (v1::CounterService::Stub::*prepare)(
        grpc::ClientContext*, const Request&, grpc::CompletionQueue*),
    const std::vector<Request>& requests, absl::Duration deadline = absl::Seconds(10)) {
  return CallAtOnce(std::vector<std::shared_ptr<grpc::Channel>>{channel}, prepare, requests,
                    deadline);
}

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_FIXTURE_H_
