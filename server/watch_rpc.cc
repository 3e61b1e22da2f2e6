#include "server/watch_rpc.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/call_error.h"
#include "server/counter_proto.h"
#include "server/rpc/wakeup.h"

namespace counter {
namespace {

absl::Status CallerGone(const rpc::Call& call) {
  const bool expired =
      call.has_caller_deadline() && call.limits().expired(Clock::System().MonotonicNow());
  return expired ? MakeError(ErrorReason::kDeadlineExceeded, "the deadline of the watch has come")
                 : MakeError(ErrorReason::kCancelled, "the caller went away");
}

// A watch may have hours; its snapshot has as long as any read.
CallLimits SnapshotLimits(const rpc::Call& call) {
  constexpr absl::Duration kSnapshotMax = absl::Seconds(5);
  CallLimits limits = call.limits();
  limits.deadline = std::min(limits.deadline, call.arrived() + kSnapshotMax);
  return limits;
}

void Add(const ItemRef& item, CountAnswer count, v1::WatchCountsResponse& response) {
  v1::ItemCount& out = *response.add_counts();
  out.mutable_item()->set_item_type(item.type);
  out.mutable_item()->set_item_id(item.id);
  SetItemCount(std::move(count), out);
}

}  // namespace

class WatchRpc::Standing {
 public:
  Standing(WatchRpc& rpc, rpc::Call& call) : rpc_(rpc), call_(call) {
    MutexLock lock(rpc_.mutex_);
    rpc_.calls_.insert(&call_);
  }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;
  ~Standing() {
    MutexLock lock(rpc_.mutex_);
    rpc_.calls_.erase(&call_);
    rpc_.ended_.NotifyAll();
  }

 private:
  WatchRpc& rpc_;
  rpc::Call& call_;
};

void WatchRpc::Register(rpc::Server& server, v1::CounterService::AsyncService& async_service) {
  server.AddServerStream(async_service, &v1::CounterService::AsyncService::RequestWatchCounts,
                         "/counter.v1.CounterService/WatchCounts",
                         [this](rpc::Call& call, const Request& request, Writer& writer) {
                           return Watch(call, request, writer);
                         });
  server.OnDrain([this] { EndWatches(); });
}

Task<grpc::Status> WatchRpc::Watch(rpc::Call& call, const Request& request, Writer& writer) {
  const Standing standing(*this, call);
  WatchRequest asked;
  for (const v1::Item& item : request.items()) {
    asked.items.push_back({item.item_type(), item.item_id()});
  }
  asked.consistency_tokens.assign(request.consistency_tokens().begin(),
                                  request.consistency_tokens().end());
  const absl::StatusOr<WatchedCounts> watched = service_.CheckWatch(asked);
  if (!watched.ok()) co_return EndWithError(call, watched.status());
  Task<absl::Status> follow = Follow(call, *watched, writer);
  const absl::Status ended = co_await std::move(follow);
  co_return EndWithError(call, ended);
}

Task<absl::Status> WatchRpc::Follow(rpc::Call& call, const WatchedCounts& watched, Writer& writer) {
  const auto wakeup = std::make_shared<rpc::Wakeup>();
  std::vector<Item> items;
  items.reserve(watched.reads.size());
  for (const ItemRead& read : watched.reads) items.push_back(read.item);
  const absl::StatusOr<std::unique_ptr<CountWatch>> watch =
      hub_.Watch(std::move(items), watched.timeline, wakeup);
  if (!watch.ok()) co_return watch.status();
  call.WakeWhenCancelled(wakeup);

  Task<absl::StatusOr<std::vector<CountAnswer>>> read =
      service_.CachedCounts(watched.reads, SnapshotLimits(call));
  absl::StatusOr<std::vector<CountAnswer>> snapshot = co_await std::move(read);
  if (!snapshot.ok()) co_return snapshot.status();
  Response response;
  response.set_snapshot(true);
  for (size_t i = 0; i < snapshot->size(); ++i) {
    CountAnswer& count = (*snapshot)[i];
    (*watch)->Told(i, count.version);
    // What the caller has shown a token of it knows.
    const bool known = watched.has_token[i] && count.version == watched.reads[i].min_version;
    if (!known) Add(watched.names[i], std::move(count), response);
  }
  if (!co_await writer.Write(response)) co_return CallerGone(call);

  response.Clear();
  while (!call.cancelled()) {
    for (CountWatch::Change& change : (*watch)->Take()) {
      Add(watched.names[change.place], std::move(change.count), response);
    }
    if (response.counts_size() > 0) {
      if (!co_await writer.Write(response)) break;
      response.Clear();
    } else {
      const absl::Status ended = (*watch)->status();
      if (!ended.ok()) co_return ended;
      co_await wakeup->Wait();
    }
  }
  co_return CallerGone(call);
}

void WatchRpc::EndWatches() {
  hub_.End();
  const MonotonicTime until = Clock::System().MonotonicNow() + kGoodbye;
  MutexLock lock(mutex_);
  while (!calls_.empty() && Clock::System().MonotonicNow() < until) {
    ended_.WaitUntil(mutex_, until);
  }
  for (rpc::Call* call : calls_) call->Cancel();
}

}  // namespace counter
