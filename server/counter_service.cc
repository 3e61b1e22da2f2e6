#include "server/counter_service.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "server/count_reads.h"

namespace counter {
namespace {

AnswerSource SourceOf(ReadSource source) {
  return source == ReadSource::kPrimary ? AnswerSource::kPrimary : AnswerSource::kReplica;
}

absl::Status RateLimitedError(UserId user, const LikeGrant& grant) {
  absl::Status error =
      MakeError(ErrorReason::kRateLimited,
                absl::StrCat("user_id ", user.value, " has used its ", grant.limit,
                             " likes of this window; try again in ",
                             absl::ToInt64Milliseconds(grant.resets_after), " ms"));
  SetRetryAfter(error, grant.resets_after);
  SetQuotaViolation(error, {absl::StrCat("user:", user.value),
                            absl::StrCat(grant.limit, " likes a window and user")});
  MarkNotApplied(error);
  return error;
}

// How many likes each user is about to make, users in order of appearance.
std::vector<LikeCharge> ChargesOf(const std::vector<Mutation>& mutations) {
  std::vector<LikeCharge> charges;
  absl::flat_hash_map<UserId, size_t> positions;
  for (const Mutation& mutation : mutations) {
    if (mutation.action != Action::kLike) continue;
    const auto [position, is_new] = positions.try_emplace(mutation.user, charges.size());
    if (is_new) charges.push_back({mutation.user, 0});
    ++charges[position->second].likes;
  }
  return charges;
}

// What a user was granted and has not used yet.
struct Purse {
  LikeGrant grant;
  int64_t unused = 0;
};
using Purses = absl::flat_hash_map<UserId, Purse>;

Purses PursesOf(const std::vector<LikeCharge>& charges, const std::vector<LikeGrant>& grants) {
  Purses purses;
  for (size_t i = 0; i < charges.size(); ++i) {
    purses[charges[i].user] = {grants[i], grants[i].granted};
  }
  return purses;
}

Task<> Arrive(Task<bool> task, std::atomic<int>& left, Resumer<bool> resume) {
  (void)co_await std::move(task);
  if (left.fetch_sub(1) == 1) resume(true);
}

// Runs both at once, so that what they send to a cache leaves together.
Task<> Both(Task<bool> one, Task<bool> other) {
  std::atomic<int> left = 2;
  auto start = [&](Resumer<bool> resume) {
    Spawn(Arrive(std::move(one), left, resume));
    Spawn(Arrive(std::move(other), left, resume));
  };
  CallbackAwaitable<bool, decltype(start)> arrived(start);
  (void)co_await arrived;
}

WriteAnswer AnswerOf(const Item& item, const Applied& applied, absl::string_view timeline) {
  return {applied.changed, applied.count, EncodeConsistencyToken(item, applied.version, timeline)};
}

// A like that changed nothing, or was certainly not applied, is free.
bool IsFree(const absl::StatusOr<Applied>& result) {
  return result.ok() ? !result->changed : IsNotApplied(result.status());
}

}  // namespace

CounterService::CounterService(ItemTypes item_types, Parts parts)
    : CounterService(std::move(item_types), parts, Options()) {}

CounterService::CounterService(ItemTypes item_types, Parts parts, Options options)
    : item_types_(std::move(item_types)),
      parts_(parts),
      write_room_(options.items_in_flight_max, "mutations in flight"),
      read_room_(options.items_in_flight_max, "items in flight") {}

absl::StatusOr<ItemRoom::Share> CounterService::TakeRoom(ItemRoom& room, size_t items) {
  absl::StatusOr<ItemRoom::Share> share = room.Take(static_cast<int64_t>(items));
  if (!share.ok()) parts_.observer.Refused(ReasonOf(share.status()));
  return share;
}

// ---- Writes ------------------------------------------------------------------------------------

Task<absl::StatusOr<WriteAnswer>> CounterService::Like(int64_t user_id, ItemRef item,
                                                       CallLimits limits) {
  return WriteOne(Action::kLike, user_id, std::move(item), std::move(limits));
}

Task<absl::StatusOr<WriteAnswer>> CounterService::Unlike(int64_t user_id, ItemRef item,
                                                         CallLimits limits) {
  return WriteOne(Action::kUnlike, user_id, std::move(item), std::move(limits));
}

Task<absl::StatusOr<WriteAnswer>> CounterService::WriteOne(Action action, int64_t user_id,
                                                           ItemRef item, CallLimits limits) {
  RequestCheck check(item_types_);
  const Mutation mutation = {check.User("user_id", user_id), check.ItemAt("item", item), action};
  if (!check.ok()) co_return check.error();
  const absl::StatusOr<ItemRoom::Share> room = TakeRoom(write_room_, 1);

  Task<WriteResults> write = Write({mutation}, std::move(limits));
  const WriteResults results = co_await std::move(write);
  if (!results[0].ok()) co_return results[0].status();
  co_return AnswerOf(mutation.item, *results[0], parts_.store.Timeline());
}

Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> CounterService::WriteLikes(
    std::vector<MutationRef> mutations, std::vector<absl::Status> refused, CallLimits limits) {
  return WriteMany(std::move(mutations), std::move(refused), Charging::kCharged, std::move(limits));
}

Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> CounterService::ImportLikes(
    std::vector<MutationRef> mutations, CallLimits limits) {
  return WriteMany(std::move(mutations), {}, Charging::kUncharged, std::move(limits));
}

Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> CounterService::WriteMany(
    std::vector<MutationRef> mutations, std::vector<absl::Status> refused, Charging charging,
    CallLimits limits) {
  RequestCheck size_check(item_types_);
  if (!size_check.Size("mutations", mutations.size())) co_return size_check.error();
  const absl::StatusOr<ItemRoom::Share> room = TakeRoom(write_room_, mutations.size());
  if (!room.ok()) co_return room.status();

  // A mutation that is refused keeps its place in the answer and does not reach the store.
  std::vector<absl::StatusOr<WriteAnswer>> answers(mutations.size(), WriteAnswer{});
  std::vector<Mutation> accepted;
  std::vector<size_t> places;
  accepted.reserve(mutations.size());
  places.reserve(mutations.size());
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (!refused.empty() && !refused[i].ok()) {
      answers[i] = std::move(refused[i]);
      continue;
    }
    const MutationRef& mutation = mutations[i];
    RequestCheck check(item_types_);
    const UserId user = check.User({"mutations", i, ".user_id"}, mutation.user_id);
    const Item item = check.ItemAt({"mutations", i, ".item"}, mutation.item);
    const Action action = check.ActionAt({"mutations", i, ".action"}, mutation.action);
    if (!check.ok()) {
      answers[i] = check.error();
      continue;
    }
    accepted.push_back({user, item, action});
    places.push_back(i);
  }

  Task<WriteResults> write = charging == Charging::kCharged
                                 ? Write(accepted, std::move(limits))
                                 : WriteUncharged(accepted, std::move(limits));
  const WriteResults results = co_await std::move(write);
  const std::string timeline = parts_.store.Timeline();
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) {
      answers[places[i]] = AnswerOf(accepted[i].item, *results[i], timeline);
    } else {
      answers[places[i]] = results[i].status();
    }
  }
  co_return answers;
}

Task<CounterService::WriteResults> CounterService::Write(std::vector<Mutation> mutations,
                                                         CallLimits limits) {
  WriteResults results(mutations.size(), Applied{});
  const std::vector<LikeCharge> charges = ChargesOf(mutations);
  Task<std::vector<LikeGrant>> charge = Charge(charges);
  const std::vector<LikeGrant> grants = co_await std::move(charge);
  Purses purses = PursesOf(charges, grants);

  // The first likes of a user are the granted ones; the rest is refused, in the order of the
  // request.
  std::vector<Mutation> granted;
  std::vector<size_t> places;
  granted.reserve(mutations.size());
  places.reserve(mutations.size());
  for (size_t i = 0; i < mutations.size(); ++i) {
    const Mutation& mutation = mutations[i];
    if (mutation.action == Action::kLike) {
      Purse& purse = purses[mutation.user];
      if (purse.unused == 0) {
        results[i] = RateLimitedError(mutation.user, purse.grant);
        parts_.observer.RateLimited(1);
        continue;
      }
      --purse.unused;
    }
    granted.push_back(mutation);
    places.push_back(i);
  }
  if (granted.empty()) co_return results;

  const absl::Time as_of = parts_.clock.WallNow();
  Task<WriteResults> apply = parts_.store.Apply(granted, std::move(limits));
  WriteResults applied = co_await std::move(apply);

  std::vector<LikeRefund> refunds;
  for (size_t i = 0; i < granted.size(); ++i) {
    if (granted[i].action == Action::kLike && IsFree(applied[i])) {
      ++purses[granted[i].user].unused;
    }
  }
  for (const LikeCharge& charge_made : charges) {
    const Purse& purse = purses[charge_made.user];
    if (purse.unused > 0 && purse.grant.limit > 0) {
      refunds.push_back({charge_made.user, purse.unused, purse.grant.window});
    }
  }
  if (!refunds.empty()) {
    Task<> give_back = parts_.rate_limiter.GiveBack(std::move(refunds));
    co_await std::move(give_back);
  }

  Task<> finish = FinishWrite(granted, applied, as_of);
  co_await std::move(finish);
  for (size_t i = 0; i < applied.size(); ++i) results[places[i]] = std::move(applied[i]);
  co_return results;
}

Task<CounterService::WriteResults> CounterService::WriteUncharged(std::vector<Mutation> mutations,
                                                                  CallLimits limits) {
  if (mutations.empty()) co_return WriteResults();
  const absl::Time as_of = parts_.clock.WallNow();
  Task<WriteResults> apply = parts_.store.Apply(mutations, std::move(limits));
  WriteResults applied = co_await std::move(apply);
  Task<> finish = FinishWrite(mutations, applied, as_of);
  co_await std::move(finish);
  co_return applied;
}

Task<> CounterService::FinishWrite(const std::vector<Mutation>& mutations,
                                   const WriteResults& results, absl::Time as_of) {
  Task<> tell = TellCaches(mutations, results, as_of);
  co_await std::move(tell);
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (results[i].ok() && results[i]->version != 0)
      parts_.observer.Acknowledged(mutations[i].item, *results[i]);
  }
  const auto unknown = std::count_if(results.begin(), results.end(), [](const auto& result) {
    return !result.ok() && !IsNotApplied(result.status());
  });
  if (unknown > 0) parts_.observer.OutcomeUnknown(unknown);
}

Task<std::vector<LikeGrant>> CounterService::Charge(const std::vector<LikeCharge>& charges) {
  if (charges.empty()) co_return std::vector<LikeGrant>();
  Task<std::vector<LikeGrant>> reserve = parts_.rate_limiter.Reserve(charges);
  std::vector<LikeGrant> grants = co_await std::move(reserve);
  co_return grants;
}

Task<> CounterService::TellCaches(const std::vector<Mutation>& mutations,
                                  const WriteResults& results, absl::Time as_of) {
  // The newest count of each item, and every user's facts. Repeats are told too: the server that
  // made the change may have died before it could.
  absl::flat_hash_map<Item, CountPut> newest;
  absl::flat_hash_map<UserId, std::vector<LikeFact>> facts;
  for (size_t i = 0; i < mutations.size(); ++i) {
    // Version 0: an item that was never changed has nothing to be told.
    if (!results[i].ok() || results[i]->version == 0) continue;
    const Mutation& mutation = mutations[i];
    parts_.observer.Wrote(mutation.item);
    const Applied& applied = *results[i];
    CountPut& put = newest[mutation.item];
    if (applied.version >= put.entry.version) {
      put.entry = {mutation.item, applied.count, applied.version, as_of};
    }
    facts[mutation.user].push_back(
        {mutation.item, mutation.action == Action::kLike, applied.version, as_of});
  }
  if (newest.empty()) co_return;

  std::vector<CountPut> puts;
  puts.reserve(newest.size());
  for (auto& [item, put] : newest) puts.push_back(put);
  std::vector<UserFacts> users;
  users.reserve(facts.size());
  for (auto& [user, user_facts] : facts) users.push_back({user, std::move(user_facts), true});
  // A cache that did not take it stays behind for its bound at most; the write is no less durable.
  Task<> tell_both =
      Both(parts_.count_cache.Put(std::move(puts)), parts_.recent_likes.Record(std::move(users)));
  co_await std::move(tell_both);
}

// ---- Reads -------------------------------------------------------------------------------------

Task<absl::StatusOr<std::vector<CountAnswer>>> CounterService::Counts(CountsRequest request,
                                                                      CallLimits limits) {
  RequestCheck check(item_types_);
  CheckedRead read = CheckRead(check, request, parts_.store.Timeline());
  if (!check.ok()) co_return check.error();
  if (read.distinct.empty()) co_return std::vector<CountAnswer>();
  const absl::StatusOr<ItemRoom::Share> room = TakeRoom(read_room_, read.index.size());
  if (!room.ok()) co_return room.status();

  Task<absl::StatusOr<std::vector<CountAnswer>>> read_counts =
      ReadCounts(std::move(read.distinct), read.consistency, std::move(limits));
  absl::StatusOr<std::vector<CountAnswer>> distinct = co_await std::move(read_counts);
  // Each item once, as most ask: the answers are in order.
  if (!distinct.ok() || distinct->size() == read.index.size()) co_return distinct;

  std::vector<CountAnswer> answers;
  answers.reserve(read.index.size());
  for (size_t index : read.index) answers.push_back((*distinct)[index]);
  co_return answers;
}

Task<absl::StatusOr<std::vector<CountAnswer>>> CounterService::ReadCounts(
    std::vector<ItemRead> reads, Consistency consistency, CallLimits limits) {
  std::vector<CountAnswer> answers(reads.size());
  std::vector<CountLookup> lookups(reads.size());
  if (consistency == Consistency::kCached) {
    std::vector<Item> items;
    items.reserve(reads.size());
    for (const ItemRead& read : reads) items.push_back(read.item);
    Task<std::vector<CountLookup>> get = parts_.count_cache.Get(std::move(items));
    lookups = co_await std::move(get);
  }

  std::vector<ItemRead> missing;
  std::vector<size_t> places;
  std::string timeline = parts_.store.Timeline();
  for (size_t i = 0; i < reads.size(); ++i) {
    const CountEntry& entry = lookups[i].entry;
    if (AnswersRead(lookups[i], reads[i].min_version)) {
      answers[i] = {entry.count, AnswerSource::kCache, entry.read_at,
                    EncodeConsistencyToken(entry.item, entry.version, timeline), entry.version};
    } else {
      missing.push_back(reads[i]);
      places.push_back(i);
    }
  }
  if (consistency == Consistency::kCached) {
    parts_.observer.CountLookups(static_cast<int64_t>(reads.size() - missing.size()),
                                 static_cast<int64_t>(missing.size()));
  }
  if (missing.empty()) co_return answers;

  // Read after the leases were granted, so that the fill cannot be older than what they guard.
  Task<absl::StatusOr<CountsRead>> store_read =
      parts_.store.Counts(missing, consistency, std::move(limits));
  const absl::StatusOr<CountsRead> counts = co_await std::move(store_read);
  if (!counts.ok()) co_return counts.status();

  timeline = parts_.store.Timeline();
  std::vector<CountPut> puts;
  for (size_t i = 0; i < missing.size(); ++i) {
    const ItemCount& count = counts->counts[i];
    const size_t place = places[i];
    answers[place] = {count.count, SourceOf(count.source), counts->as_of,
                      EncodeConsistencyToken(missing[i].item, count.version, timeline),
                      count.version};
    const std::optional<CountPut> fill =
        FillOf(missing[i].item, count, counts->as_of, lookups[place].token);
    if (fill.has_value()) puts.push_back(*fill);
  }
  if (!puts.empty()) {
    Task<bool> put = parts_.count_cache.Put(std::move(puts));
    (void)co_await std::move(put);
  }
  co_return answers;
}

absl::StatusOr<WatchedCounts> CounterService::CheckWatch(const WatchRequest& request) const {
  RequestCheck check(item_types_);
  if (request.items.empty() || request.items.size() > kWatchItemsMax) {
    check.Add("items", absl::StrCat("must have 1 to ", kWatchItemsMax, " elements, got ",
                                    request.items.size()));
  }
  WatchedCounts watched;
  watched.timeline = parts_.store.Timeline();
  CheckedRead read =
      CheckRead(check, {request.items, 0, request.consistency_tokens}, watched.timeline);
  if (!check.ok()) return check.error();
  if (read.consistency == Consistency::kStrong) {
    // A token of another history. A store that was never reached has none of its own yet.
    const bool knows = parts_.store.Health().ok();
    return knows ? MakeError(ErrorReason::kResumeOutOfRange,
                             "the store's history is not that of the consistency_tokens; watch "
                             "again without them, for counts of now")
                 : MakeError(ErrorReason::kStoreUnavailable,
                             "the store cannot be reached at the moment; try again");
  }
  watched.names.resize(read.distinct.size());
  watched.has_token.resize(read.distinct.size());
  for (size_t i = 0; i < read.index.size(); ++i) watched.names[read.index[i]] = request.items[i];
  for (const std::string& text : request.consistency_tokens) {
    const std::optional<ConsistencyToken> token = DecodeConsistencyToken(text);
    for (size_t i = 0; i < read.distinct.size(); ++i) {
      if (read.distinct[i].item == token->item) watched.has_token[i] = true;
    }
  }
  watched.reads = std::move(read.distinct);
  return watched;
}

Task<absl::StatusOr<std::vector<CountAnswer>>> CounterService::CachedCounts(
    std::vector<ItemRead> reads, CallLimits limits) {
  return ReadCounts(std::move(reads), Consistency::kCached, std::move(limits));
}

Task<absl::StatusOr<LikedAnswer>> CounterService::HasLiked(LikedRequest request,
                                                           CallLimits limits) {
  RequestCheck check(item_types_);
  const UserId user = check.User("user_id", request.user_id);
  const CheckedRead read = CheckRead(check,
                                     {std::move(request.items), request.consistency,
                                      std::move(request.consistency_tokens), /*single=*/false},
                                     parts_.store.Timeline());
  if (!check.ok()) co_return check.error();

  // Nothing was asked: the answer is whole and as fresh as can be.
  if (read.distinct.empty())
    co_return LikedAnswer{{}, AnswerSource::kPrimary, parts_.clock.WallNow()};
  const absl::StatusOr<ItemRoom::Share> room = TakeRoom(read_room_, read.index.size());
  if (!room.ok()) co_return room.status();

  Task<absl::StatusOr<LikedAnswer>> read_liked =
      ReadLiked(user, read.distinct, read.consistency, std::move(limits));
  absl::StatusOr<LikedAnswer> answer = co_await std::move(read_liked);
  if (!answer.ok()) co_return answer.status();
  std::vector<bool> liked;
  liked.reserve(read.index.size());
  for (size_t index : read.index) liked.push_back(answer->liked[index]);
  answer->liked = std::move(liked);
  co_return answer;
}

Task<absl::StatusOr<LikedAnswer>> CounterService::ReadLiked(UserId user,
                                                            std::vector<ItemRead> reads,
                                                            Consistency consistency,
                                                            CallLimits limits) {
  LikedAnswer answer;
  answer.liked.assign(reads.size(), false);
  answer.source = AnswerSource::kCache;
  answer.as_of = parts_.clock.WallNow();
  std::vector<std::optional<absl::Time>> found(reads.size());
  if (consistency == Consistency::kCached) {
    std::vector<Item> items;
    items.reserve(reads.size());
    for (const ItemRead& read : reads) items.push_back(read.item);
    Task<std::vector<std::optional<absl::Time>>> find =
        parts_.recent_likes.Find(user, std::move(items));
    found = co_await std::move(find);
  }

  std::vector<ItemRead> missing;
  std::vector<size_t> places;
  for (size_t i = 0; i < reads.size(); ++i) {
    // What is known of a recent like has no version to hold against a token.
    if (found[i].has_value() && reads[i].min_version == 0) {
      answer.liked[i] = true;
      answer.as_of = std::min(answer.as_of, *found[i]);
    } else {
      missing.push_back(reads[i]);
      places.push_back(i);
    }
  }
  if (consistency == Consistency::kCached) {
    parts_.observer.RecentLikeLookups(static_cast<int64_t>(reads.size() - missing.size()),
                                      static_cast<int64_t>(missing.size()));
  }
  if (missing.empty()) co_return answer;

  Task<absl::StatusOr<PairsRead>> store_read =
      parts_.store.HasLiked(user, missing, consistency, std::move(limits));
  const absl::StatusOr<PairsRead> pairs = co_await std::move(store_read);
  if (!pairs.ok()) co_return pairs.status();
  answer.source = SourceOf(pairs->source);
  answer.as_of = std::min(answer.as_of, pairs->as_of);
  std::vector<LikeFact> facts;
  for (size_t i = 0; i < missing.size(); ++i) {
    const PairState& pair = pairs->pairs[i];
    answer.liked[places[i]] = pair.liked;
    if (pair.liked) facts.push_back({missing[i].item, true, pair.item_version, pairs->as_of});
  }
  if (!facts.empty()) {
    std::vector<UserFacts> users = {{user, std::move(facts)}};
    Task<bool> record = parts_.recent_likes.Record(std::move(users));
    (void)co_await std::move(record);
  }
  co_return answer;
}

}  // namespace counter
