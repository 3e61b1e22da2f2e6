// The Lua scripts: decisions that Redis takes for us, each in one step.
//
// They are count_protocol.h, recent_set.h and like_window.h again, in the only language that Redis
// runs; a differential test on a real Redis holds each to its pure form. What each takes and gives
// stands above its text in scripts.cc.
//
// Scripts are sent by digest. A server that has lost them (restart, failover, SCRIPT FLUSH) says
// NOSCRIPT, having done nothing; AskScript then sends the text, which the server keeps.
//
// Threads: any.
#ifndef COUNTER_CACHE_REDIS_SCRIPTS_H_
#define COUNTER_CACHE_REDIS_SCRIPTS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/redis/channel.h"
#include "cache/redis/slot.h"

namespace counter::redis {

class Script {
 public:
  explicit Script(std::string text);

  const std::string& text() const { return text_; }
  const std::string& digest() const { return digest_; }  // SHA-1 in hexadecimal, as EVALSHA has it.

 private:
  const std::string text_;
  const std::string digest_;
};

const Script& PutCountsScript();
const Script& RecordLikesScript();
const Script& ReserveLikesScript();
const Script& GiveBackLikesScript();

std::vector<const Script*> AllScripts();

struct ScriptCall {
  std::vector<std::string> keys;
  std::vector<std::string> args;
  int slot = kNoSlot;  // Of all keys; needed of a cluster.
};

// Calls `script` with each of `calls`, all in one write; reply i is of call i. Absent: no answer in
// time, after which any of them may have run.
Task<Answer> AskScript(Channel& channel, const Script& script, std::vector<ScriptCall> calls,
                       MonotonicTime deadline);

// As AskScript, for calls whose answer nobody waits for. Whatever is asked through the channel
// afterwards sees what they did, unless Redis had forgotten the script or sent them on.
void TellScript(Channel& channel, const Script& script, std::vector<ScriptCall> calls,
                MonotonicTime deadline);

}  // namespace counter::redis

#endif  // COUNTER_CACHE_REDIS_SCRIPTS_H_
