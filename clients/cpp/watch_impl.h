// Watch::Impl: the stream of a watch, and the waiting.
//
// Use it in Client and Watch; callers see watch.h alone. What is decided is decided in
// watch_state.h.
//
// Threads and ownership: as Watch; borrows the stub.
#ifndef COUNTER_CLIENTS_CPP_WATCH_IMPL_H_
#define COUNTER_CLIENTS_CPP_WATCH_IMPL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "clients/cpp/client.h"
#include "clients/cpp/error.h"
#include "clients/cpp/watch.h"
#include "clients/cpp/watch_state.h"
#include "counter/v1/counter.grpc.pb.h"

namespace counter::client {

class Watch::Impl {
 public:
  struct Call {
    v1::CounterService::Stub& stub;
    std::function<void(grpc::ClientContext&)> describe;  // Says of a stream what is said of calls.
    std::optional<absl::Time> ends;                      // Absent: never.
    std::optional<Error> refused;                        // It cannot be asked.
  };

  Impl(Call call, std::vector<Item> items, WatchState state);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<CountsUpdate> Next();
  void Stop();

 private:
  // The next message of the stream, which is opened if there is none.
  Result<CountsUpdate> Receive();
  // False if it was stopped.
  bool Open();
  Error Close();
  // False if the watch's time is over before the pause is. A stop ends the pause.
  bool Rest(absl::Duration pause);

  const Call call_;
  const std::vector<Item> items_;
  WatchState state_;
  std::unique_ptr<grpc::ClientReader<v1::WatchCountsResponse>> reader_;
  std::optional<Error> failed_;

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable stopping_;
  bool is_stopped_ = false;
  std::unique_ptr<grpc::ClientContext> context_;  // Of the reader.
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_WATCH_IMPL_H_
