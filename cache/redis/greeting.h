// The greeting: what is said first on every new connection, and what must be answered.
//
// It logs in, chooses the database, finds out whether this server takes our writes (a cache that
// can be read but not written grows stale: a read-only replica, a server whose disk is full), loads
// the scripts, and asks which run of the server, with which history of its data, this is, since
// when, and whether it is a node of a cluster. Such a node may own no slots, or not that of the key
// which is written to find out: that it sends us on is an answer. Pure: no socket, no clock.
//
// Threads: any. Ownership: values only. Errors hold no secret.
#ifndef COUNTER_CACHE_REDIS_GREETING_H_
#define COUNTER_CACHE_REDIS_GREETING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cache/redis/channel.h"
#include "cache/redis/slot.h"

namespace counter::redis {

struct Login {
  std::string user;      // Empty: the server's default user.
  std::string password;  // Empty: none is sent.
  int database = 0;
};

struct Greeting {
  std::string run_id;  // Empty: the server does not say.
  bool is_of_cluster = false;
  // How long the server's process has run at most, to the second; infinite: it does not say.
  absl::Duration up_for = absl::InfiniteDuration();
};

// A key that no item has, for writes that change nothing.
std::string ProbedKey();
// As ProbedKey, in one of `slots`; empty if there is none.
std::string ProbedKeyIn(const SlotSet& slots);

// `probed_key`: what is written to find out whether writes are taken; the server's own, or it may
// send us on and be of no use.
Commands GreetingCommands(const Login& login, absl::string_view probed_key);

// What the answers to GreetingCommands(login, key) say; an error if the connection cannot be used.
absl::StatusOr<Greeting> ReadGreeting(const Login& login, const std::vector<Reply>& replies);

// A write that changes nothing: whoever answers it with a number takes writes.
Commands WriteProbe(absl::string_view key);

// Whether this answer to any command of ours says that the server cannot serve us as it is: it
// takes no writes, is loading, or does not know us any more.
bool SaysUnusable(const Reply& reply);

// Whether this answer to a write of a key of the node's own slots says that it serves them no more:
// the map of the slots is to be asked for.
bool SaysNotOwner(const Reply& reply);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_GREETING_H_
