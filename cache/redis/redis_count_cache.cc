#include "cache/redis/redis_count_cache.h"

#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cache/count_protocol.h"
#include "cache/redis/count_value.h"
#include "cache/redis/key_groups.h"
#include "cache/redis/scripts.h"

namespace counter::redis {
namespace {

// Redis does nothing else while it runs one command: about 1 us a key read, 5 us a key put.
constexpr size_t kKeysPerRead = 500;
constexpr size_t kKeysPerPut = 100;

uint64_t SeedOrRandom(uint64_t seed) {
  if (seed != 0) return seed;
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

void AddReads(const std::vector<std::string>& keys, const std::vector<KeyGroup>& groups,
              Commands& commands) {
  for (const KeyGroup& group : groups) {
    std::vector<absl::string_view> parts = {"MGET"};
    for (const size_t i : group.members) parts.emplace_back(keys[i]);
    commands.Add(parts, group.slot);
  }
}

// A fill goes where its own lease stands.
bool IsFill(const std::vector<CountPut>& puts) {
  return std::any_of(puts.begin(), puts.end(), [](const CountPut& put) { return put.token != 0; });
}

// Of the puts of one item the one that all of them come to. Requires puts without tokens, that may
// live as long as any.
void KeepNewest(std::vector<CountPut>& puts) {
  const auto age = [](const CountPut& put) {
    return std::tuple(put.entry.version, put.entry.read_at);
  };
  std::sort(puts.begin(), puts.end(), [&](const CountPut& a, const CountPut& b) {
    return a.entry.item == b.entry.item ? age(a) > age(b) : a.entry.item < b.entry.item;
  });
  const auto same_item = [](const CountPut& a, const CountPut& b) {
    return a.entry.item == b.entry.item;
  };
  puts.erase(std::unique(puts.begin(), puts.end(), same_item), puts.end());
}

// Whether `put` leaves what stands under its key as it is: the script would answer 0.
bool ChangesNothing(const CountPut& put, const Reply& there) {
  if (there.is_nil()) return true;
  if (!there.is_text()) return false;
  const std::optional<CountCell> cell = ParseCell(there.text);
  return cell && StepPut(*cell, put).effect == CountPutStep::Effect::kNothing;
}

}  // namespace

RedisCountCache::RedisCountCache(Channel& channel, const Keys& keys, const Clock& clock,
                                 RedisCountCacheOptions options)
    : channel_(channel),
      keys_(keys),
      clock_(clock),
      options_(options),
      longest_life_(options.ttl * (1 + kCountTtlJitter)),
      seed_(SeedOrRandom(options.seed)),
      gets_([this](std::vector<Item> items, MonotonicTime deadline) {
        return GetNow(std::move(items), deadline);
      }),
      fills_([this](std::vector<CountPut> puts, MonotonicTime deadline) {
        return PutNow(std::move(puts), deadline);
      }),
      write_throughs_([this](std::vector<CountPut> puts, MonotonicTime deadline) {
        return PutNow(std::move(puts), deadline);
      }),
      recent_puts_(options.recent_puts_span, static_cast<size_t>(options.recent_puts_max)) {}

Task<std::vector<CountLookup>> RedisCountCache::Get(std::vector<Item> items) {
  if (items.empty()) co_return std::vector<CountLookup>();
  const MonotonicTime deadline = clock_.MonotonicNow() + options_.budget;
  Task<std::vector<CountLookup>> get =
      joins() ? gets_.Call(std::move(items), deadline) : GetNow(std::move(items), deadline);
  std::vector<CountLookup> lookups = co_await std::move(get);
  Count(lookups);
  co_return lookups;
}

// An item may come more than once: then one of them at most has the lease.
Task<std::vector<CountLookup>> RedisCountCache::GetNow(std::vector<Item> items,
                                                       MonotonicTime deadline) {
  std::vector<CountLookup> lookups(items.size());
  std::vector<std::string> keys;
  keys.reserve(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    keys.push_back(keys_.Count(items[i]));
    lookups[i].entry.item = items[i];
  }
  const std::vector<KeyGroup> groups = GroupKeys(keys, channel_.by_slot(), kKeysPerRead);
  Commands reads;
  AddReads(keys, groups, reads);
  Task<Answer> ask = Ask(channel_, std::move(reads), deadline);
  const Answer answer = co_await std::move(ask);

  const absl::Time now = clock_.WallNow();
  std::vector<size_t> missing;
  std::vector<std::string> damaged;
  for (size_t g = 0; answer && g < groups.size(); ++g) {
    const std::vector<size_t>& members = groups[g].members;
    const Reply& values = (*answer)[g];
    if (!values.is_array() || values.elements.size() != members.size()) continue;
    for (size_t m = 0; m < members.size(); ++m) {
      const size_t i = members[m];
      const Standing standing = ReadValue(values.elements[m], groups[g].slot, now, lookups[i]);
      if (standing == Standing::kMissing) missing.push_back(i);
      if (standing == Standing::kDamaged) damaged.push_back(keys[i]);
    }
  }
  DeleteDamaged(damaged);
  if (!missing.empty()) {
    Task<> lease = Lease(std::move(keys), std::move(missing), lookups, deadline);
    co_await std::move(lease);
  }
  co_return lookups;
}

Task<std::vector<PeekedCount>> RedisCountCache::Peek(std::vector<Item> items) {
  using Kind = PeekedCount::Kind;
  std::vector<PeekedCount> peeked(items.size());
  if (items.empty()) co_return peeked;
  std::vector<std::string> keys;
  keys.reserve(items.size());
  for (const Item& item : items) keys.push_back(keys_.Count(item));
  const std::vector<KeyGroup> groups = GroupKeys(keys, channel_.by_slot(), kKeysPerRead);
  Commands reads;
  AddReads(keys, groups, reads);
  Task<Answer> ask = Ask(channel_, std::move(reads), clock_.MonotonicNow() + options_.budget);
  const Answer answer = co_await std::move(ask);

  const absl::Time now = clock_.WallNow();
  for (size_t g = 0; answer && g < groups.size(); ++g) {
    const std::vector<size_t>& members = groups[g].members;
    const Reply& values = (*answer)[g];
    if (!values.is_array() || values.elements.size() != members.size()) continue;
    for (size_t m = 0; m < members.size(); ++m) {
      const Reply& value = values.elements[m];
      if (!value.is_nil() && !value.is_text()) continue;
      CountLookup lookup;
      lookup.entry.item = items[members[m]];
      (void)ReadValue(value, groups[g].slot, now, lookup);
      const bool is_value = lookup.kind == CountLookup::Kind::kHit;
      peeked[members[m]] = {is_value ? Kind::kValue : Kind::kNothing, lookup.entry};
    }
  }
  co_return peeked;
}

Task<> RedisCountCache::Lease(std::vector<std::string> keys, std::vector<size_t> missing,
                              std::vector<CountLookup>& lookups, MonotonicTime deadline) {
  const std::string life = absl::StrCat(absl::ToInt64Milliseconds(kFillLeaseLife));
  Commands commands;
  std::vector<FillToken> tokens;
  for (const size_t i : missing) {
    CountCell lease;
    lease.kind = CountCell::Kind::kLease;
    lease.token = Random();
    tokens.push_back(lease.token);
    // NX and GET together: what is there is told and not overwritten (Redis 7).
    commands.Add({"SET", keys[i], FormatCell(lease), "NX", "GET", "PX", life}, SlotOf(keys[i]));
  }
  Task<Answer> ask = Ask(channel_, std::move(commands), deadline);
  const Answer answer = co_await std::move(ask);
  if (!answer) co_return;

  const absl::Time now = clock_.WallNow();
  std::vector<std::string> damaged;
  for (size_t at = 0; at < missing.size(); ++at) {
    CountLookup& lookup = lookups[missing[at]];
    const Reply& reply = (*answer)[at];
    const Standing standing = ReadValue(reply, SlotOf(keys[missing[at]]), now, lookup);
    if (standing == Standing::kDamaged || reply.is_error("WRONGTYPE")) {
      damaged.push_back(keys[missing[at]]);
    } else if (standing == Standing::kMissing) {
      lookup.kind = CountLookup::Kind::kLease;
      lookup.token = tokens[at];
    }
  }
  DeleteDamaged(damaged);
}

void RedisCountCache::DeleteDamaged(const std::vector<std::string>& keys) {
  damaged_.fetch_add(static_cast<int64_t>(keys.size()), std::memory_order_relaxed);
  Delete(keys);
}

RedisCountCache::Standing RedisCountCache::ReadValue(const Reply& reply, int slot, absl::Time now,
                                                     CountLookup& lookup) const {
  if (reply.is_nil()) return Standing::kMissing;
  if (!reply.is_text()) return Standing::kAnswered;  // An error: nothing is known.
  const std::optional<CountCell> cell = ParseCell(reply.text);
  if (!cell) return Standing::kDamaged;
  if (cell->kind == CountCell::Kind::kLease) return Standing::kAnswered;
  if (now - cell->read_at > longest_life_) return Standing::kDamaged;
  // A miss: what the store says is put, and believed again.
  if (cell->read_at < channel_.believed_since(slot)) return Standing::kAnswered;
  lookup.kind = CountLookup::Kind::kHit;
  lookup.entry.count = cell->count;
  lookup.entry.version = cell->version;
  lookup.entry.read_at = cell->read_at;
  return Standing::kAnswered;
}

void RedisCountCache::Evict(const std::vector<Item>& items) {
  std::vector<std::string> keys;
  keys.reserve(items.size());
  for (const Item& item : items) keys.push_back(keys_.Count(item));
  Delete(keys);
}

// An eviction, which is right at any instant; nobody waits for it.
void RedisCountCache::Delete(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  Commands commands;
  for (const std::string& key : keys) commands.Add({"DEL", key}, SlotOf(key));
  channel_.Send(
      {std::move(commands), clock_.MonotonicNow() + options_.budget, [](const Answer&) {}});
}

Task<bool> RedisCountCache::Put(std::vector<CountPut> puts) {
  if (puts.empty()) co_return true;
  const MonotonicTime now = clock_.MonotonicNow();
  const MonotonicTime deadline = now + options_.budget;
  Note(puts, now);
  const auto count = static_cast<int64_t>(puts.size());
  CallBatcher<CountPut, char>& batcher = IsFill(puts) ? fills_ : write_throughs_;
  Task<std::vector<char>> put =
      joins() ? batcher.Call(std::move(puts), deadline) : PutNow(std::move(puts), deadline);
  const std::vector<char> acknowledged = co_await std::move(put);
  const bool all = std::find(acknowledged.begin(), acknowledged.end(), 0) == acknowledged.end();
  std::atomic<int64_t>& counter = all ? puts_ : puts_lost_;
  counter.fetch_add(count, std::memory_order_relaxed);
  co_return all;
}

Task<std::vector<char>> RedisCountCache::PutNow(std::vector<CountPut> puts,
                                                MonotonicTime deadline) {
  std::vector<char> acknowledged(puts.size(), 1);
  const bool is_fill = IsFill(puts);
  if (!is_fill) KeepNewest(puts);
  const size_t told = puts.size();
  std::vector<std::string> keys;
  keys.reserve(puts.size());
  for (const CountPut& put : puts) keys.push_back(keys_.Count(put.entry.item));
  bool answered = true;
  if (!is_fill && look_first_.worth()) {
    Task<bool> look = DropIdle(puts, keys, deadline);
    answered = co_await std::move(look);
  }
  if (answered && !puts.empty()) {
    Task<std::optional<size_t>> put = PutByScript(puts, std::move(keys), deadline);
    const std::optional<size_t> changed = co_await std::move(put);
    answered = changed.has_value();
    if (answered && !is_fill) look_first_.Saw(*changed, told);
  }
  if (!answered) acknowledged.assign(acknowledged.size(), 0);
  co_return acknowledged;
}

// Takes out of both what would change nothing, which is as good as acknowledged. False if Redis
// could not be asked.
Task<bool> RedisCountCache::DropIdle(std::vector<CountPut>& puts, std::vector<std::string>& keys,
                                     MonotonicTime deadline) {
  const std::vector<KeyGroup> groups = GroupKeys(keys, channel_.by_slot(), kKeysPerRead);
  Commands reads;
  AddReads(keys, groups, reads);
  Task<Answer> ask = Ask(channel_, std::move(reads), deadline);
  const Answer answer = co_await std::move(ask);
  if (!answer) co_return false;

  std::vector<bool> is_idle(puts.size(), false);
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<size_t>& members = groups[g].members;
    const Reply& values = (*answer)[g];
    if (!values.is_array() || values.elements.size() != members.size()) continue;
    for (size_t m = 0; m < members.size(); ++m) {
      is_idle[members[m]] = ChangesNothing(puts[members[m]], values.elements[m]);
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < puts.size(); ++i) {
    if (is_idle[i]) continue;
    puts[kept] = puts[i];
    std::swap(keys[kept], keys[i]);
    ++kept;
  }
  // What is kept, the script tells.
  if (kept == 0) look_first_.Saw(0, puts.size());
  puts.resize(kept);
  keys.resize(kept);
  co_return true;
}

// How many it changed; absent if not all of them were acknowledged.
Task<std::optional<size_t>> RedisCountCache::PutByScript(const std::vector<CountPut>& puts,
                                                         std::vector<std::string> keys,
                                                         MonotonicTime deadline) {
  const absl::Time now = clock_.WallNow();
  std::vector<ScriptCall> calls;
  for (const KeyGroup& group : GroupKeys(keys, channel_.by_slot(), kKeysPerPut)) {
    ScriptCall& call = calls.emplace_back();
    call.slot = group.slot;
    for (const size_t i : group.members) AddPut(puts[i], std::move(keys[i]), now, call);
  }
  Task<Answer> ask = AskScript(channel_, PutCountsScript(), std::move(calls), deadline);
  const Answer answer = co_await std::move(ask);
  if (!answer) co_return std::nullopt;
  size_t changed = 0;
  for (const Reply& effects : *answer) {
    if (!effects.is_array()) co_return std::nullopt;
    changed +=
        static_cast<size_t>(std::count_if(effects.elements.begin(), effects.elements.end(),
                                          [](const Reply& effect) { return effect.integer != 0; }));
  }
  co_return changed;
}

void RedisCountCache::AddPut(const CountPut& put, std::string key, absl::Time now,
                             ScriptCall& call) {
  const CountEntry& entry = put.entry;
  const absl::Duration life =
      std::min(CountLife(options_.ttl, now - entry.read_at, Random()), put.life_max);
  call.keys.push_back(std::move(key));
  call.args.push_back(absl::StrCat(entry.count));
  call.args.push_back(absl::StrCat(entry.version));
  call.args.push_back(absl::StrCat(ToStoredMicros(entry.read_at)));
  call.args.push_back(absl::StrCat(put.token));
  call.args.push_back(absl::StrCat(absl::ToInt64Milliseconds(life)));
}

std::vector<Item> RedisCountCache::RecentlyPut(const SlotSet& slots) {
  std::vector<Item> items;
  {
    MutexLock lock(mutex_);
    items = recent_puts_.Since(clock_.MonotonicNow());
  }
  if (slots.all()) return items;
  std::erase_if(items, [&](const Item& item) {
    return !slots[static_cast<size_t>(SlotOf(keys_.Count(item)))];
  });
  return items;
}

void RedisCountCache::Note(const std::vector<CountPut>& puts, MonotonicTime now) {
  MutexLock lock(mutex_);
  for (const CountPut& put : puts) recent_puts_.Note(put.entry.item, now);
}

void RedisCountCache::Count(const std::vector<CountLookup>& lookups) {
  int64_t hits = 0;
  int64_t leases = 0;
  for (const CountLookup& lookup : lookups) {
    hits += lookup.kind == CountLookup::Kind::kHit ? 1 : 0;
    leases += lookup.kind == CountLookup::Kind::kLease ? 1 : 0;
  }
  hits_.fetch_add(hits, std::memory_order_relaxed);
  leases_.fetch_add(leases, std::memory_order_relaxed);
  misses_.fetch_add(static_cast<int64_t>(lookups.size()) - hits - leases,
                    std::memory_order_relaxed);
}

RedisCountCacheStats RedisCountCache::Stats() const {
  return {hits_, leases_, misses_, puts_, puts_lost_, damaged_};
}

// Never 0, and never the same twice.
uint64_t RedisCountCache::Random() {
  while (true) {
    const uint64_t n = randoms_.fetch_add(1, std::memory_order_relaxed);
    if (const uint64_t random = Mix64(seed_ + n); random != 0) return random;
  }
}

}  // namespace counter::redis
