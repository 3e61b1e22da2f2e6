// The greeting: what is said first on every new connection, and what must be answered.
//
// It logs in, chooses the database, finds out whether this server takes our writes (a cache that
// can be read but not written grows stale: a read-only replica, a server whose disk is full), loads
// the scripts, and asks which run of the server, with which history of its data, this is. Pure: no
// socket, no clock.
//
// Threads: any. Ownership: values only. Errors hold no secret.
#ifndef COUNTER_CACHE_REDIS_GREETING_H_
#define COUNTER_CACHE_REDIS_GREETING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cache/redis/channel.h"

namespace counter::redis {

struct Login {
  std::string user;      // Empty: the server's default user.
  std::string password;  // Empty: none is sent.
  int database = 0;
};

struct Greeting {
  std::string run_id;  // Empty: the server does not say.
};

Commands GreetingCommands(const Login& login);

// What the answers to GreetingCommands(login) say; an error if the connection cannot be used.
absl::StatusOr<Greeting> ReadGreeting(const Login& login, const std::vector<Reply>& replies);

// A write that changes nothing: whoever answers it with a number takes writes.
Commands WriteProbe();

// Whether this answer to any command of ours says that the server cannot serve us as it is: it
// takes no writes, is loading, or does not know us any more.
bool SaysUnusable(const Reply& reply);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_GREETING_H_
