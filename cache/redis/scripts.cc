#include "cache/redis/scripts.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

std::string Sha1Hex(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) != 1) std::abort();
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest), size});
}

// allow-oom: with no memory left, a put must still be able to replace what is known to be old. It
// makes no key, and what it replaces is as large as what it writes.
//
// KEYS: of the items; a key may come again. ARGV, five a key: count, version, read_at in us, token
// (0: none), how long the value may live in ms (0: it has ended already).
// A value that has kReplicaFillLife (5 s) or less to live keeps its end (LifeAfterPut).
// Returns for each key what came of it, as CountPutStep::Effect: 0 nothing, 1 raised the minimum,
// 2 dropped the lease, 3 stored, 4 refreshed.
constexpr char kPutCounts[] = R"lua(#!lua flags=allow-oom
local function newer(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end
local function store(key, text, life)
  if life > 0 then redis.call('SET', key, text, 'PX', life) else redis.call('DEL', key) end
end
local function put(key, count, version, read_at, token, life)
  local there = redis.pcall('GET', key)
  if not there then return 0 end
  if type(there) == 'table' then redis.call('DEL', key) return 0 end
  local text = count .. '@' .. version .. '@' .. read_at
  local lease, minimum = string.match(there, '^!(%d+)@(%d+)$')
  if lease then
    if token == lease then
      if newer(minimum, version) then redis.call('DEL', key) return 2 end
      store(key, text, life)
      return 3
    end
    if not newer(version, minimum) then return 0 end
    redis.call('SET', key, '!' .. lease .. '@' .. version, 'KEEPTTL')
    return 1
  end
  local old_version, old_read_at = string.match(there, '^%d+@(%d+)@(%d+)$')
  if not old_version then redis.call('DEL', key) return 0 end
  local is_newer = newer(version, old_version)
  if not is_newer and (version ~= old_version or not newer(read_at, old_read_at)) then return 0 end
  local left = redis.call('PTTL', key)
  local ends_soon = left >= 0 and left <= 5000 and life > 10000
  if ends_soon then life = left elseif not is_newer then life = math.max(life, left) end
  if is_newer then store(key, text, life) return 3 end
  local count_known = string.match(there, '^(%d+)@')
  store(key, count_known .. '@' .. version .. '@' .. read_at, life)
  return 4
end
local effects = {}
for i = 1, #KEYS do
  local a = 5 * (i - 1)
  effects[i] = put(KEYS[i], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], ARGV[a + 4],
                   tonumber(ARGV[a + 5]))
end
return effects
)lua";

// allow-oom: a record that holds an unlike must be able to end a like. The set is bounded.
//
// KEYS, three a user: likes, unlikes, versions. ARGV: now in us, life of a set in ms, life of a
// trace in us, likes at most, traces at most; then for each user how many facts, who tells them (r:
// a read, w: a write), and four a fact: member, liked (1 or 0), version, verified in us. Returns
// how many facts were taken.
//
// A field of versions is version@verified of a like, version@verified@made of a trace. The field ''
// is refused@renewed: likes verified up to the former are refused, because a trace that would have
// refused them had to go; at the latter the life of versions was begun anew, which is done now and
// then only. Without it what is there is not whole (Redis evicts keys one by one) and goes.
//
// Most records are one new like: of a user of whom nothing is known one short call; of one who has
// few likes five, no table and no closure of ours, and no trimming while there is too little to
// trim.
constexpr char kRecordLikes[] = R"lua(#!lua flags=allow-oom
local call, match, find = redis.call, string.match, string.find
local life, trace_life = ARGV[2], tonumber(ARGV[3])
local likes_max, traces_max = tonumber(ARGV[4]), tonumber(ARGV[5])
local trim_above = math.min(likes_max, traces_max) + 1
local time = call('TIME')
local now_text = time[1] .. string.sub('000000' .. time[2], -6)
if tonumber(ARGV[1]) > tonumber(now_text) then now_text = ARGV[1] end
local now = tonumber(now_text)
local taken, at = 0, 6
for key = 1, #KEYS, 3 do
  local likes, unlikes, versions = KEYS[key], KEYS[key + 1], KEYS[key + 2]
  local facts, of_write = tonumber(ARGV[at]), ARGV[at + 1] == 'w'
  at = at + 1
  local found
  if facts == 1 then
    found = redis.pcall('HMGET', versions, '', ARGV[at + 1])
  else
    local fields = {''}
    for a = at + 1, at + 4 * facts, 4 do fields[#fields + 1] = ARGV[a] end
    found = redis.pcall('HMGET', versions, unpack(fields))
  end
  local refused_text, renewed
  if found[1] then refused_text, renewed = match(found[1], '^(%d+)@(%d+)$') end
  local refused_up_to = tonumber(refused_text or 0)
  local is_known = renewed ~= nil
  local before = {}
  local changed, unliked = false, false
  for i = 1, facts do
    local a = at + 4 * i - 3
    local member, liked, version, verified_text = ARGV[a], ARGV[a + 1] == '1', ARGV[a + 2], ARGV[a + 3]
    if tonumber(verified_text) > now then verified_text = now_text end
    local verified = tonumber(verified_text)
    if not is_known and not (liked and of_write) then
      call('DEL', likes, unlikes, versions)
      is_known = true
    end
    local refused = not is_known or
        liked and (now - verified >= trace_life or verified <= refused_up_to)
    local state = before[member]
    if state == nil then state = renewed and found[i + 1] or '' end
    if not refused and state ~= '' then
      local known, known_verified, made = match(state, '^(%d+)@(%d+)@?(%d*)$')
      if made == '' or now - tonumber(made) < trace_life then
        refused = #known > #version or (#known == #version and known > version) or
            (known == version and tonumber(known_verified) >= verified)
      end
    end
    if not refused then
      local was_trace = state ~= '' and find(state, '@.*@')
      state = version .. '@' .. verified_text
      if liked then
        if was_trace then call('ZREM', unlikes, member) end
        call('ZADD', likes, verified_text, member)
      else
        state = state .. '@' .. now_text
        if not was_trace then call('ZREM', likes, member) end
        call('ZADD', unlikes, now_text, member)
        unliked = true
      end
      call('HSET', versions, member, state)
      if facts > 1 then before[member] = state end
      changed = true
      taken = taken + 1
    end
  end
  if changed then
    call('PEXPIRE', likes, life)
    if unliked then call('PEXPIRE', unlikes, life) end
    if not renewed or now - tonumber(renewed) > tonumber(life) * 1000 / 16 then
      renewed = now_text
      call('HSET', versions, '', string.format('%.0f', refused_up_to) .. '@' .. renewed)
      -- Longer than any set that it orders.
      call('PEXPIRE', versions, string.format('%.0f', tonumber(life) * 9 / 8))
    end
    if unliked or call('HLEN', versions) > trim_above then
      -- Members and scores in turn, as ZPOPMIN has them.
      local function forget(popped)
        for i = 1, #popped, 2 do call('HDEL', versions, popped[i]) end
      end
      local ended = call('ZCOUNT', unlikes, '-inf', string.format('%.0f', now - trace_life))
      if ended > 0 then forget(call('ZPOPMIN', unlikes, ended)) end
      local traces_held = call('ZCARD', unlikes)
      if traces_held > traces_max then
        local popped = call('ZPOPMIN', unlikes, traces_held - traces_max)
        forget(popped)
        local youngest = tonumber(popped[#popped])
        if youngest > refused_up_to then
          call('HSET', versions, '', string.format('%.0f', youngest) .. '@' .. renewed)
        end
        traces_held = traces_max
      end
      local likes_held = call('ZCARD', likes)
      if likes_held > likes_max then
        forget(call('ZPOPMIN', likes, likes_held - likes_max))
        likes_held = likes_max
      end
      -- Redis may evict one of the keys without the others: then versions would grow without end.
      if call('HLEN', versions) > likes_held + traces_held + 100 then
        call('DEL', likes, unlikes, versions)
      end
    end
  end
  at = at + 4 * facts + 1
end
return taken
)lua";

// KEYS: of the users. ARGV: limit, length of a window in ms, then one a key: likes asked for.
// Returns three a key: granted, used in all, the instant at which the window ends in ms since 1970;
// that also names the window.
//
// A key that is no count, or would end never or later than a window can, is damage: a new window
// begins, so that nobody is locked out.
constexpr char kReserveLikes[] = R"lua(#!lua
local limit, length = tonumber(ARGV[1]), tonumber(ARGV[2])
local result = {}
for i = 1, #KEYS do
  local key, likes = KEYS[i], tonumber(ARGV[i + 2])
  local text = redis.pcall('GET', key)
  local used = type(text) == 'string' and #text <= 15 and string.match(text, '^%d+$') and
      tonumber(text)
  local left = used and redis.call('PTTL', key)
  local granted
  if used and left >= 0 and left <= length then
    granted = math.max(math.min(likes, limit - used), 0)
    used = used + granted
    if granted > 0 then redis.call('INCRBY', key, granted) end
  else
    granted = math.min(likes, limit)
    used = granted
    redis.call('SET', key, string.format('%.0f', used), 'PX', length)
  end
  result[3 * i - 2], result[3 * i - 1] = granted, used
  result[3 * i] = redis.call('PEXPIRETIME', key)
end
local time = redis.call('TIME')
result[3 * #KEYS + 1] = time[1] * 1000 + math.floor(time[2] / 1000)
return result
)lua";

// KEYS: of the users. ARGV, two a key: likes to take back, name of their window. Returns how many
// were taken back, over all keys.
constexpr char kGiveBackLikes[] = R"lua(#!lua
local taken = 0
for i = 1, #KEYS do
  local key, likes, window = KEYS[i], tonumber(ARGV[2 * i - 1]), ARGV[2 * i]
  if string.format('%.0f', redis.call('PEXPIRETIME', key)) == window then
    local text = redis.pcall('GET', key)
    local used = type(text) == 'string' and string.match(text, '^%d+$') and tonumber(text)
    local back = used and math.min(likes, used) or 0
    if back > 0 then redis.call('DECRBY', key, string.format('%.0f', back)) end
    taken = taken + back
  end
end
return taken
)lua";

std::vector<absl::string_view> Parts(absl::string_view command, absl::string_view script,
                                     absl::string_view key_count, const ScriptCall& call) {
  std::vector<absl::string_view> parts = {command, script, key_count};
  parts.reserve(parts.size() + call.keys.size() + call.args.size());
  for (const std::string& key : call.keys) parts.emplace_back(key);
  for (const std::string& arg : call.args) parts.emplace_back(arg);
  return parts;
}

void AddCall(absl::string_view command, absl::string_view script, const ScriptCall& call,
             Commands& commands) {
  const std::string key_count = absl::StrCat(call.keys.size());
  commands.Add(Parts(command, script, key_count, call), call.slot);
}

}  // namespace

Script::Script(std::string text) : text_(std::move(text)), digest_(Sha1Hex(text_)) {}

const Script& PutCountsScript() {
  static const Script script(kPutCounts);
  return script;
}

const Script& RecordLikesScript() {
  static const Script script(kRecordLikes);
  return script;
}

const Script& ReserveLikesScript() {
  static const Script script(kReserveLikes);
  return script;
}

const Script& GiveBackLikesScript() {
  static const Script script(kGiveBackLikes);
  return script;
}

std::vector<const Script*> AllScripts() {
  return {&PutCountsScript(), &RecordLikesScript(), &ReserveLikesScript(), &GiveBackLikesScript()};
}

Task<Answer> AskScript(Channel& channel, const Script& script, std::vector<ScriptCall> calls,
                       MonotonicTime deadline) {
  Commands commands;
  for (const ScriptCall& call : calls) AddCall("EVALSHA", script.digest(), call, commands);
  Task<Answer> ask = Ask(channel, std::move(commands), deadline);
  Answer answer = co_await std::move(ask);
  if (!answer) co_return answer;

  std::vector<size_t> unknown;
  for (size_t i = 0; i < answer->size(); ++i) {
    if ((*answer)[i].is_error("NOSCRIPT")) unknown.push_back(i);
  }
  if (unknown.empty()) co_return answer;
  Commands again;
  for (const size_t i : unknown) AddCall("EVAL", script.text(), calls[i], again);
  Task<Answer> ask_again = Ask(channel, std::move(again), deadline);
  Answer second = co_await std::move(ask_again);
  if (!second) co_return std::nullopt;
  for (size_t i = 0; i < unknown.size(); ++i) (*answer)[unknown[i]] = std::move((*second)[i]);
  co_return answer;
}

namespace {

Task<> Forget(Task<Answer> ask) { const Answer ignored = co_await std::move(ask); }

}  // namespace

void TellScript(Channel& channel, const Script& script, std::vector<ScriptCall> calls,
                MonotonicTime deadline) {
  Spawn(Forget(AskScript(channel, script, std::move(calls), deadline)));
}

}  // namespace counter::redis
