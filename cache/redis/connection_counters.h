// ConnectionCounters: what a connection counts about itself: written by its loop, read by anybody.
//
// Use it inside Connection; what others see is ConnectionStats, a value.
//
// Threads: Stats any, the rest the loop's alone.
#ifndef COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_
#define COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace counter::redis {

// Since the start, but for the first three. A request is one or more commands that are answered
// together, the connection's own (greeting, heartbeat, probe) among them. Each ends once: answered,
// timed out, refused or lost.
struct ConnectionStats {
  bool ready = false;
  bool breaker_open = false;
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
};

class ConnectionCounters {
 public:
  // A number that only the loop changes.
  class Number {
   public:
    void Add(size_t n = 1) {
      value_.store(value_.load(std::memory_order_relaxed) + static_cast<int64_t>(n),
                   std::memory_order_relaxed);
    }
    void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
    int64_t value() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> value_{0};
  };

  ConnectionStats Stats() const {
    ConnectionStats stats;
    stats.ready = ready.value() != 0;
    stats.breaker_open = breaker_open.value() != 0;
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
    return stats;
  }

  // As in ConnectionStats.
  Number ready;
  Number breaker_open;
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
};

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_CONNECTION_COUNTERS_H_
