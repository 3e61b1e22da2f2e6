// Redirect: what a node of a cluster says instead of an answer.
//
// Use it on every reply to a command that was sent to a node: MOVED names the owner of a slot,
// which is worth remembering; ASK names where one command has to be asked now, once, and says
// nothing about the next one. The other words mean that nobody can answer just now. Pure: values
// only; any thread.
#ifndef COUNTER_CACHE_REDIS_REDIRECT_H_
#define COUNTER_CACHE_REDIS_REDIRECT_H_

#include <cstdint>

#include "cache/redis/node.h"
#include "cache/redis/reply.h"

namespace counter::redis {

struct Redirect {
  enum class Kind : uint8_t {
    kNone,         // An answer, if perhaps an error.
    kMoved,        // Ask `node`, now and from now on.
    kAsk,          // Ask `node` this once, after ASKING.
    kTryAgain,     // The keys of one command are on two nodes just now.
    kClusterDown,  // The cluster does not serve this slot.
    kUnreadable,   // A redirection that names no place: malformed, or its node does not know.
  };
  Kind kind = Kind::kNone;
  int slot = -1;  // Of kMoved and kAsk.
  Node node;      // Of kMoved and kAsk.
};

// What `reply`, which came from `from`, says. A redirection without a host means that of `from`.
Redirect ReadRedirect(const Reply& reply, const Node& from);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_REDIRECT_H_
