// ConnectionCounters: what a connection counts about itself: written by its loop, read by anybody.
//
// Use it inside Connection; what others see is ConnectionStats, a value.
//
// Threads: Stats any, the rest the loop's alone.
#ifndef COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_
#define COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace counter::redis {

// Since the start, but for the first six. A request is one or more commands that are answered
// together, the connection's own (greeting, heartbeat, probe) among them. Each ends once: answered,
// timed out, refused or lost. What goes to several
// nodes of a cluster is a request to each of them.
struct ConnectionStats {
  bool ready = false;         // Of a cluster: its map is known, and every owner is connected.
  bool breaker_open = false;  // Of any node.
  int64_t requests_open = 0;  // Waiting or not answered; abandoned ones too.
  int64_t connects = 0;       // Greetings that went well.
  int64_t breaks = 0;         // Attempts and connections that failed or were dropped.
  int64_t breaker_opens = 0;
  int64_t requests = 0;
  int64_t answers = 0;
  int64_t timeouts = 0;      // Requests that were not answered by their deadline.
  int64_t refused_full = 0;  // Requests for which there was no room.
  int64_t lost = 0;          // Requests that ended with the connection, or came without one.
  int64_t late_answers = 0;  // Answers to requests that had timed out; they were read for nothing.
  int64_t commands = 0;
  int64_t writes = 0;  // Calls of the socket; commands / writes is how well they share them.

  // How many servers there are, which is one unless it is a cluster: 0 until that is known.
  int64_t nodes = 0;
  int64_t nodes_ready = 0;
  int64_t nodes_breaker_open = 0;

  // Of a cluster. Commands that were sent on, or back, by what the node said.
  int64_t moved = 0;
  int64_t asked = 0;
  int64_t tried_again = 0;
  int64_t cluster_down = 0;
  int64_t given_up = 0;  // Sent on once too often, or to no place: unanswered.
  // How often the map of the slots was asked for, by what came of it.
  int64_t maps_taken = 0;
  int64_t maps_refused = 0;  // Not whole, or no map.
  int64_t maps_lost = 0;     // No answer in time.
};

class ConnectionCounters {
 public:
  // A number that only the loop changes.
  class Number {
   public:
    void Add(int64_t n = 1) {
      value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
    int64_t value() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> value_{0};
  };

  ConnectionStats Stats() const {
    ConnectionStats stats;
    stats.ready = ready.value() != 0;
    stats.breaker_open = breakers_open.value() != 0;
    stats.requests_open = requests_open.value();
    stats.connects = connects.value();
    stats.breaks = breaks.value();
    stats.breaker_opens = breaker_opens.value();
    stats.requests = requests.value();
    stats.answers = answers.value();
    stats.timeouts = timeouts.value();
    stats.refused_full = refused_full.value();
    stats.lost = lost.value();
    stats.late_answers = late_answers.value();
    stats.commands = commands.value();
    stats.writes = writes.value();
    stats.nodes = nodes.value();
    stats.nodes_ready = links_ready.value();
    stats.nodes_breaker_open = breakers_open.value();
    stats.moved = moved.value();
    stats.asked = asked.value();
    stats.tried_again = tried_again.value();
    stats.cluster_down = cluster_down.value();
    stats.given_up = given_up.value();
    stats.maps_taken = maps_taken.value();
    stats.maps_refused = maps_refused.value();
    stats.maps_lost = maps_lost.value();
    return stats;
  }

  // As in ConnectionStats; links and requests of all nodes together.
  Number ready;
  Number nodes;
  Number links_ready;
  Number breakers_open;
  Number requests_open;
  Number connects;
  Number breaks;
  Number breaker_opens;
  Number requests;
  Number answers;
  Number timeouts;
  Number refused_full;
  Number lost;
  Number late_answers;
  Number commands;
  Number writes;
  Number moved;
  Number asked;
  Number tried_again;
  Number cluster_down;
  Number given_up;
  Number maps_taken;
  Number maps_refused;
  Number maps_lost;
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_
