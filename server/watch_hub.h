// WatchHub: tells those who watch counts that they have changed.
//
// Use one for a server. A watch names items and what it knows of each; the hub looks at all items
// that anybody watches once a round, through the same cached reads as everybody's, and wakes the
// watches of those that have a newer version. So the cost of a round depends on the number of
// items, not on the number of watches: ten thousand watches of one item cost one read.
//
// It keeps one count for each watched item and one version for each item of a watch, and no queue:
// a watch that is slow finds the newest count when it comes back, and never learns of those in
// between. What a watch is told of an item never goes back in version.
//
// It knows no transport and no request: server/watch_rpc has both.
//
// Threads: any; Start and Stop one at a time. Wakes come on the hub's thread, and on the one that
// calls End(). Ownership: borrows the service and the clock; outlives its watches.
#ifndef COUNTER_SERVER_WATCH_HUB_H_
#define COUNTER_SERVER_WATCH_HUB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/counter_service.h"
#include "server/rpc/wakeup.h"
#include "storage/like.h"

namespace counter {

class CountWatch;

class WatchHub {
 public:
  struct Options {
    absl::Duration interval = absl::Milliseconds(500);  // From the begin of a round to the next.
    int items_max = 100'000;                            // Different ones that are watched.
    absl::Duration read_budget = absl::Seconds(2);      // Of one read, of up to 1000 items.
  };
  // Rising, but for the first two.
  struct Stats {
    int64_t watches = 0;
    int64_t items = 0;  // Different ones.
    int64_t rounds = 0;
    int64_t failed_reads = 0;  // Their items keep their old counts until the next round.
    int64_t changes = 0;       // Newer counts that a round found.
  };

  WatchHub(CounterService& service, const Clock& clock, Options options);
  ~WatchHub();  // Stops.
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // A watch of distinct items, of versions of the store's history `timeline`. `wakeup` is woken
  // whenever there may be something to take. kOverloaded when too many items are watched,
  // kShuttingDown after End().
  absl::StatusOr<std::unique_ptr<CountWatch>> Watch(std::vector<Item> items,
                                                    const std::string& timeline,
                                                    std::shared_ptr<rpc::Wakeup> wakeup);

  // Begins and ends the rounds.
  void Start();
  void Stop();

  // Ends all watches, and refuses new ones: the server is shutting down.
  void End();

  // What happens each interval; for tests. Wakes before it returns.
  Task<> Round();

  Stats stats() const;

 private:
  friend class CountWatch;

  // What the hub knows of an item that somebody watches.
  struct Watched {
    bool known = false;
    CountAnswer count;
    std::set<CountWatch*> watches;
  };
  using Wakeups = std::vector<std::shared_ptr<rpc::Wakeup>>;

  void Run();
  bool Stopping() const;
  std::vector<Item> WatchedItems() const;
  Task<> ReadSome(std::vector<Item> items);
  Wakeups Publish(const std::string& timeline, const std::vector<Item>& items,
                  const std::vector<CountAnswer>& counts);
  // Ends what was watched in another history.
  void LookAtTimeline();
  void Remove(CountWatch& watch);

  CounterService& service_;
  const Clock& clock_;
  const Options options_;

  mutable Mutex mutex_;
  CondVar changed_;
  // Node-based: a watch keeps pointers to the entries of its items.
  std::map<Item, Watched> items_ ABSL_GUARDED_BY(mutex_);
  std::set<CountWatch*> watches_ ABSL_GUARDED_BY(mutex_);
  std::string timeline_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// One watch: what its caller has been told, and what it has not. For one thread at a time; it may
// be woken by others meanwhile. It leaves the hub when it is destroyed.
class CountWatch {
 public:
  // The count of items[place] of the watch.
  struct Change {
    size_t place = 0;
    CountAnswer count;
  };

  ~CountWatch() { hub_.Remove(*this); }
  CountWatch(const CountWatch&) = delete;
  CountWatch& operator=(const CountWatch&) = delete;

  // The caller knows this version of items[place], or a newer one.
  void Told(size_t place, int64_t version);

  // Newer counts than the caller was told, each once; it counts as told of them.
  std::vector<Change> Take();

  // OK, or why nothing more will come: kShuttingDown, or kResumeOutOfRange when the store's history
  // has changed, so that versions can no longer be compared.
  absl::Status status() const;

 private:
  friend class WatchHub;
  struct Place {
    WatchHub::Watched* item;
    int64_t told = -1;
  };
  CountWatch(WatchHub& hub, std::vector<Item> items, std::shared_ptr<rpc::Wakeup> wakeup)
      : hub_(hub), items_(std::move(items)), wakeup_(std::move(wakeup)) {}

  WatchHub& hub_;
  const std::vector<Item> items_;
  // Shared: a call may end while it is being woken.
  const std::shared_ptr<rpc::Wakeup> wakeup_;
  // The rest is guarded by the hub's mutex.
  std::vector<Place> places_;
  absl::Status status_;
};

// What a watch, or the token of one, ends with when the store's history is another one.
absl::Status ResumeOutOfRange();

}  // namespace counter

#endif  // COUNTER_SERVER_WATCH_HUB_H_
