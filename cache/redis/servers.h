// Servers: the links to Redis, be it one server or the nodes of a cluster, and who is asked what.
//
// Use it under the loop of a Connection. Which of the two it is, the greeting of the first server
// says. One server gets everything as it comes. Of a cluster the map of the slots is asked for,
// each command goes to the owner of its slot, and is sent on where a node says so
// (routed_request.h); commands for one node leave together.
//
// - The nodes that own slots are connected to as soon as the map names them, others when a command
//   is sent on to them; a node that the map does not name any more is let go.
// - A node that is gone or slow costs its slots: its commands are unanswered at once once its link
//   or breaker says so, the others are answered.
// - The map is asked for again when a node doubts it, an owner is out of reach, or for a while
//   nobody did; one question at a time, one a second at most (refresh_schedule.h), asked of the
//   nodes in turn. Without any node the hosts of the URL are tried again.
// - What may have been lost is told: the slots of a node that shows another run, and slots that
//   have another owner than before, whether a replica took over or they moved.
//
// Threads: the loop's alone, but usable, by_slot and believed_since: any. Ownership: of the links;
// it borrows the rest.
#ifndef COUNTER_CACHE_REDIS_SERVERS_H_
#define COUNTER_CACHE_REDIS_SERVERS_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "cache/redis/channel.h"
#include "cache/redis/connection_counters.h"
#include "cache/redis/connection_options.h"
#include "cache/redis/link.h"
#include "cache/redis/multiplexer.h"
#include "cache/redis/node.h"
#include "cache/redis/refresh_schedule.h"
#include "cache/redis/routed_request.h"
#include "cache/redis/slot.h"
#include "cache/redis/slot_map.h"
#include "cache/redis/slot_starts.h"

namespace counter::redis {

class Servers final : public Link::Owner {
 public:
  struct Listener {
    // What had been acknowledged of keys of these slots may be gone.
    std::function<void(const SlotSet&)> on_loss;
    // Why an attempt failed or a connection was dropped, each time.
    std::function<void(absl::string_view)> on_trouble;
  };

  Servers(boost::asio::io_context& context, const ConnectionOptions& options,
          ConnectionCounters& counters, Listener listener);
  ~Servers() override = default;  // Requires that it was never begun, or that it has ended.

  void Begin();
  // Ends every request without an answer, and all links.
  void End();

  // Takes a request; hands it back if it has ended already. What was taken leaves with Flush.
  std::optional<Finished> Take(Request request);
  void Flush();

  // As Channel has them.
  bool usable() const { return is_usable_.load(std::memory_order_acquire); }
  bool by_slot() const { return is_by_slot_.load(std::memory_order_acquire); }
  absl::Time believed_since(int slot) const { return starts_.Of(by_slot() ? slot : 0); }

 private:
  enum class Kind : uint8_t { kUnknown, kSingle, kCluster };
  struct Held {
    std::shared_ptr<Link> link;
    bool is_owner = false;
    bool was_sent_on_to = false;  // Since the last map: a command was.
    std::string probed_key;
    absl::Time started = absl::InfinitePast();  // The process, at the earliest.
  };
  // A request on its way, shared by the legs that are under way.
  struct Journey {
    RoutedRequest request;
    MonotonicTime deadline;
    absl::AnyInvocable<void(Answer)> done;
  };
  using JourneyPtr = std::shared_ptr<Journey>;
  struct Paused {
    MonotonicTime until;
    JourneyPtr journey;
    RoutedRequest::Leg leg;
  };

  // Link::Owner.
  std::string OnReady(Link& link, const Greeting& greeting) override;
  void OnNewRun(Link& link) override;
  void OnUsable(Link& link) override;
  void OnNews(Link& link, absl::string_view what) override;
  void OnTrouble(Link& link, absl::string_view what) override;
  void OnNotOwner(Link& link) override;

  // Links.
  Held* Hold(const Node& node);  // Makes the link if there is none; null: no room.
  void HoldSeeds();
  void Say(const std::string& what) const;
  void UpdateUsable();

  // Requests to a cluster.
  std::optional<Finished> Route(Request request);
  void SendLeg(const JourneyPtr& journey, const RoutedRequest::Leg& leg);
  void OnLeg(const JourneyPtr& journey, const RoutedRequest::Leg& leg, Answer answer);
  void Count(const RoutedRequest::News& news);
  void Pause(const JourneyPtr& journey, RoutedRequest::Leg leg);
  void GoOn(MonotonicTime now);
  static void Finish(const JourneyPtr& journey);

  // The map.
  void Watch();
  void BeginRefresh(MonotonicTime now);
  std::shared_ptr<Link> NextToAsk();
  void OnMap(const Node& from, const Answer& answer);
  void Install(SlotMap map);
  void ProbeOwnSlots(const Node& node, Held& held) const;
  void TellLoss(const SlotSet& slots) const;
  void Arm(MonotonicTime at);

  const Clock& clock_ = Clock::System();  // The one that timers go by.
  boost::asio::io_context& context_;
  const ConnectionOptions& options_;
  ConnectionCounters& counters_;
  const Listener listener_;
  const std::unique_ptr<boost::asio::ssl::context> authorities_;  // Null: no TLS.
  std::vector<Node> seeds_;                                       // Those of the URL.
  uint64_t next_seed_;                                            // Of jitter.

  Kind kind_ = Kind::kUnknown;
  bool has_ended_ = false;
  std::map<Node, Held> links_;
  std::vector<std::shared_ptr<Link>> touched_;  // Those that something waits in for Flush.
  std::optional<SlotMap> map_;
  SlotStarts starts_;
  bool misses_owner_ = false;  // One is not usable.
  SlotSet moved_;              // Slots that have another owner since the last map.
  RefreshSchedule refresh_;
  Node asked_last_;
  std::deque<Paused> paused_;  // Soonest first.
  boost::asio::steady_timer timer_;
  MonotonicTime armed_at_ = MonotonicTime::max();  // max: not armed.

  std::atomic<bool> is_usable_ = false;
  std::atomic<bool> is_by_slot_ = false;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SERVERS_H_
