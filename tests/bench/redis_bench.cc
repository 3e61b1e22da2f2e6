// What the scripts of the cache cost Redis, in processor time (INFO cpu): the record of a like as
// it was before and as it is, alone and with others in one call; a put, for comparison.
//
//   bazel run --config=opt //tests/bench:redis_bench -- --likes=20000
//
// Microseconds a like, with the parsing of the command and the sending of the reply; only ratios of
// one run count.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/task.h"
#include "cache/redis/connection.h"
#include "cache/redis/keys.h"
#include "cache/redis/scripts.h"
#include "tests/support/eventually.h"
#include "tests/support/redis_server.h"

namespace counter::redis {
namespace {

// The record script as it was: fifteen calls of Redis a like.
constexpr char kFormerRecordLikes[] = R"lua(#!lua flags=allow-oom
local likes, unlikes, versions = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = math.max(tonumber(ARGV[1]), time[1] * 1000000 + time[2])
local life, trace_life = tonumber(ARGV[2]), tonumber(ARGV[3])
local likes_max, traces_max = tonumber(ARGV[4]), tonumber(ARGV[5])
local function newer(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end
local function forget(set, members)
  for i = 1, #members, 100 do
    local last = math.min(i + 99, #members)
    redis.call('ZREM', set, unpack(members, i, last))
    redis.call('HDEL', versions, unpack(members, i, last))
  end
end
local refused_up_to = tonumber(redis.call('HGET', versions, '') or -1)
local taken = 0
for a = 6, #ARGV, 4 do
  local member, liked, version = ARGV[a], ARGV[a + 1] == '1', ARGV[a + 2]
  local verified = math.min(tonumber(ARGV[a + 3]), now)
  local verified_text = string.format('%.0f', verified)
  local refused = liked and (now - verified >= trace_life or verified <= refused_up_to)
  local known = not refused and redis.call('HGET', versions, member)
  if known then
    local known_version, known_verified = string.match(known, '^(%d+)@(%d+)$')
    refused = newer(known_version, version) or
        (version == known_version and not newer(verified_text, known_verified))
  end
  if not refused then
    redis.call('HSET', versions, member, version .. '@' .. verified_text)
    redis.call('ZADD', liked and likes or unlikes,
               liked and verified_text or string.format('%.0f', now), member)
    redis.call('ZREM', liked and unlikes or likes, member)
    taken = taken + 1
  end
end
forget(unlikes, redis.call('ZRANGE', unlikes, '-inf', string.format('%.0f', now - trace_life),
                           'BYSCORE'))
local traces_over = redis.call('ZCARD', unlikes) - traces_max
if traces_over > 0 then
  local youngest = redis.call('ZRANGE', unlikes, traces_over - 1, traces_over - 1, 'WITHSCORES')
  forget(unlikes, redis.call('ZRANGE', unlikes, 0, traces_over - 1))
  if tonumber(youngest[2]) > refused_up_to then
    redis.call('HSET', versions, '', string.format('%.0f', tonumber(youngest[2])))
  end
end
local likes_over = redis.call('ZCARD', likes) - likes_max
if likes_over > 0 then forget(likes, redis.call('ZRANGE', likes, 0, likes_over - 1)) end
-- Redis may evict one of the keys without the others: then versions would grow without an end.
local held = redis.call('ZCARD', likes) + redis.call('ZCARD', unlikes)
if redis.call('HLEN', versions) > held + 100 then redis.call('DEL', likes, unlikes, versions) end
if taken > 0 then
  redis.call('PEXPIRE', likes, life)
  redis.call('PEXPIRE', unlikes, life)
  redis.call('PEXPIRE', versions, life)
end
return taken
)lua";

using counter::testing::Eventually;
using counter::testing::RedisServer;

// How a like is told.
struct Form {
  std::string name;
  const Script* script = nullptr;
  int64_t likes_a_call = 1;
  bool says_count = true;  // The former script was not told how many facts, nor by whom.
  bool is_put = false;
  int64_t users = 0;  // Likes go around so many users.
};

std::vector<std::string> SettingsOf(int64_t now_us) {
  return {absl::StrCat(now_us), "86400000", "60000000", "1000", "1000"};
}

ScriptCall CallOf(const Form& form, int64_t first) {
  const Keys keys({{1, "post"}});
  const int64_t now_us = absl::ToUnixMicros(Clock::System().WallNow());
  ScriptCall call;
  if (!form.is_put) call.args = SettingsOf(now_us);
  for (int64_t like = first; like < first + form.likes_a_call; ++like) {
    const Item item = {ItemType{1}, like + 1};
    if (form.is_put) {
      call.keys.push_back(keys.Count(item));
      for (const int64_t arg : {int64_t{1}, now_us, now_us, int64_t{0}, int64_t{3'600'000}})
        call.args.push_back(absl::StrCat(arg));
      continue;
    }
    const UserId user{1 + like % form.users};
    call.keys.push_back(Keys::RecentLikes(user));
    call.keys.push_back(Keys::RecentUnlikes(user));
    call.keys.push_back(Keys::RecentVersions(user));
    if (form.says_count) call.args.insert(call.args.end(), {"1", "r"});
    call.args.push_back(keys.ItemName(item));
    call.args.emplace_back("1");
    call.args.push_back(absl::StrCat(now_us));
    call.args.push_back(absl::StrCat(now_us));
  }
  return call;
}

// The processor time that Redis has used, in microseconds.
double CpuMicros(const RedisServer& redis) {
  double seconds = 0;
  const std::string info = redis.Command({"INFO", "cpu"});
  for (const absl::string_view line : absl::StrSplit(info, absl::ByAnyChar("\r\n"))) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ':');
    double value = 0;
    if ((words[0] == "used_cpu_user" || words[0] == "used_cpu_sys") &&
        absl::SimpleAtod(words[1], &value)) {
      seconds += value;
    }
  }
  return seconds * 1e6;
}

// Microseconds a like; below 0 if Redis did not answer.
double Measure(const RedisServer& redis, Connection& connection, const Form& form, int64_t likes) {
  redis.Command({"FLUSHALL"});
  const double before = CpuMicros(redis);
  constexpr int64_t kCallsAtOnce = 100;
  const int64_t calls = likes / form.likes_a_call;
  for (int64_t call = 0; call < calls; call += kCallsAtOnce) {
    std::vector<ScriptCall> some;
    for (int64_t i = call; i < std::min(call + kCallsAtOnce, calls); ++i)
      some.push_back(CallOf(form, i * form.likes_a_call));
    const Answer answer =
        BlockingWait(AskScript(connection, *form.script, std::move(some), MonotonicTime::max()));
    if (!answer || answer->front().is_error()) return -1;
  }
  return (CpuMicros(redis) - before) / static_cast<double>(calls * form.likes_a_call);
}

int Run(int64_t likes, int rounds) {
  auto redis = RedisServer::Start();
  if (!redis.ok()) {
    std::fprintf(stderr, "%s\n", std::string(redis.status().message()).c_str());
    return 1;
  }
  ConnectionOptions options;
  options.address.port = static_cast<uint16_t>((*redis)->port());
  Connection connection(options);
  connection.Start();
  if (!Eventually(absl::Seconds(10), [&] { return connection.usable(); })) return 1;

  const Script former(kFormerRecordLikes);
  const int64_t many = likes;
  const std::vector<Form> forms = {
      {"record, as it was", &former, 1, false, false, many},
      {"record", &RecordLikesScript(), 1, true, false, many},
      {"record, 20 likes a user before, as it was", &former, 1, false, false, many / 20 + 1},
      {"record, 20 likes a user before", &RecordLikesScript(), 1, true, false, many / 20 + 1},
      {"record, one user and a full set, as it was", &former, 1, false, false, 1},
      {"record, one user and a full set", &RecordLikesScript(), 1, true, false, 1},
      {"record, 33 users a call", &RecordLikesScript(), 33, true, false, many},
      {"put", &PutCountsScript(), 1, true, true, 0},
      {"put, 100 items a call", &PutCountsScript(), 100, true, true, 0}};
  std::vector<double> best(forms.size(), 1e9);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < forms.size(); ++i) {
      const double us = Measure(**redis, connection, forms[i], likes);
      if (us < 0) return 1;
      best[i] = std::min(best[i], us);
    }
  }
  for (size_t i = 0; i < forms.size(); ++i)
    std::printf("%-45s %6.2f us a like\n", forms[i].name.c_str(), best[i]);
  connection.Stop();
  return 0;
}

}  // namespace
}  // namespace counter::redis

// NOLINTNEXTLINE(bugprone-exception-escape): options that contradict each other end the process.
int main(int argc, char** argv) {
  CLI::App app("What the scripts of the cache cost Redis.");
  int64_t likes = 20'000;
  int rounds = 3;
  app.add_option("--likes", likes, "Likes of each form and round.")
      ->check(CLI::Range(100, 10'000'000));
  app.add_option("--rounds", rounds, "Rounds; the best of each form is told.")
      ->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  return counter::redis::Run(likes, rounds);
}
