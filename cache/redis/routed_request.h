// RoutedRequest: one request on its way through a cluster: which of its commands go to which node,
// what came back, and where those go next that were sent on.
//
// Use it under the loop that sends. It is cut into legs, the commands that one node is sent
// together; when a leg has ended, it says which legs follow. Commands that are not redirected keep
// their answers, so a node that is gone costs its own commands only. A command is sent kSendsMax
// times at most; what is redirected after that, or to no place, is unanswered.
//
// ASK changes nothing that lasts: the command is sent once to the other node, ASKING before it on
// the same connection. MOVED does: News has it.
//
// Threads: one at a time. Ownership: of the commands and the answers; it has no socket, no clock
// and no map of its own.
#ifndef COUNTER_CACHE_REDIS_ROUTED_REQUEST_H_
#define COUNTER_CACHE_REDIS_ROUTED_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cache/redis/channel.h"
#include "cache/redis/redirect.h"
#include "cache/redis/slot_map.h"

namespace counter::redis {

class RoutedRequest {
 public:
  // A node is asked for a command, or sent on by it, this often at most.
  static constexpr int kSendsMax = 5;

  struct Leg {
    Node node;
    bool asking = false;           // Each command after an ASKING.
    std::vector<size_t> commands;  // Indexes, rising.
  };

  // What a leg's answer says about the cluster, and what to do next.
  struct News {
    std::vector<Leg> next;
    std::vector<Leg> next_after_pause;        // The keys are on their way just now.
    std::vector<std::pair<int, Node>> moved;  // Slots, and who owns them now. Each slot once.
    bool doubts_map = false;                  // A reason to ask for the map.
    int64_t asked = 0;                        // Commands sent on by ASK,
    int64_t moved_commands = 0;               // by MOVED,
    int64_t tried_again = 0;                  // by TRYAGAIN;
    int64_t down = 0;                         // refused by CLUSTERDOWN;
    int64_t given_up = 0;                     // sent on once too often, or to no place.
  };

  // Requires commands.has_slots().
  explicit RoutedRequest(Commands commands);

  // Where all of it goes first. Once.
  std::vector<Leg> Begin(const SlotMap& map);

  // What is sent to the node of a leg.
  Commands CommandsOf(const Leg& leg) const;
  int slot_of(size_t command) const { return commands_.places()[command].slot; }

  // The answer to CommandsOf(leg); absent: none in time, or the leg could not be sent.
  News OnAnswer(const Leg& leg, Answer answer);

  // Whether each command has its answer, or never will.
  bool is_over() const { return open_ == 0; }
  // Absent if nothing was answered. Requires is_over(). Once.
  Answer TakeAnswer();

 private:
  void Answered(size_t command, Reply reply);
  void GiveUp(size_t command);
  void Follow(const Leg& leg, size_t command, const Redirect& redirect, News& news);
  static void AddTo(std::vector<Leg>& legs, const Node& node, bool asking, size_t command);

  const Commands commands_;
  std::vector<int> sends_;  // Of each command.
  std::vector<Reply> replies_;
  size_t open_;
  bool is_any_answered_ = false;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_ROUTED_REQUEST_H_
