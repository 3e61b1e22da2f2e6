// ReadRouting: which server answers a read, and what happens if it does not.
//
// The decisions of ReadRouter (read_router.h) without its connections: a Primary takes reads
// (PushCounts, PushPairs, Pump, as reader.h), a Standby also says whether it is usable (as
// replica.h). Use ReadRouter; a simulation puts servers of its own in their places.
//
// Use one for a store. A strong read goes to the primary. Another one goes to a replica that is
// usable (replica.h), if there is one, in turn; what the replica does not answer, for whatever
// reason, goes to the primary, inside the caller's deadline. So does an item that the replica has
// only in an older version than the read asks for: the version comes in the same row as the count,
// so the check is of what was read.
//
// A replica may show a commit a moment before the primary does: the primary sends its log before it
// lets its own readers see the commit. Who was told of it there, and asks the primary with that
// version, would see an older one. So an answer of the primary that is older than asked for is
// asked again for a moment, if there are replicas and the caller's time allows; then it is final.
//
// Threads: everything on the loop's thread. Ownership: borrows the reader; owns the replicas; must
// outlive the run of the loop. Callbacks run exactly once.
#ifndef COUNTER_STORAGE_POSTGRES_READ_ROUTING_H_
#define COUNTER_STORAGE_POSTGRES_READ_ROUTING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/clock.h"
#include "base/error.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/read_batcher.h"
#include "storage/postgres/read_statements.h"

namespace counter::postgres {

// What a read ends with that finds its queue full.
absl::Status ReadsOverloaded();

// How often the primary is asked again for what a replica has shown already. At first a tick later;
// the pause is twice as long after every second time, so that they come to 126 ticks: a process of
// the primary that gets no processor may show its commit that late.
inline constexpr int kAsksAgainMax = 12;

namespace routing_internal {

struct CountsKind {
  using Key = Item;
  using Answer = ItemCount;
  using Done = absl::AnyInvocable<void(absl::StatusOr<CountsRead>)>;
  using BatchDone = ReadBatcher<Key, Answer>::Done;

  template <class Where>
  static bool Push(Where& where, std::vector<Key> keys, const CallLimits& limits, BatchDone& done) {
    return where.PushCounts(std::move(keys), limits, done);
  }
  static int64_t VersionOf(const Answer& answer) { return answer.version; }
  static bool TellsVersion(const Answer&) { return true; }
  static CountsRead Whole(std::vector<Answer> answers, absl::Time as_of, ReadSource) {
    return {std::move(answers), as_of};
  }
};

struct PairsKind {
  using Key = Pair;
  using Answer = PairState;
  using Done = absl::AnyInvocable<void(absl::StatusOr<PairsRead>)>;
  using BatchDone = ReadBatcher<Key, Answer>::Done;

  template <class Where>
  static bool Push(Where& where, std::vector<Key> keys, const CallLimits& limits, BatchDone& done) {
    return where.PushPairs(std::move(keys), limits, done);
  }
  static int64_t VersionOf(const Answer& answer) { return answer.item_version; }
  static bool TellsVersion(const Answer& answer) { return answer.liked; }
  static PairsRead Whole(std::vector<Answer> answers, absl::Time as_of, ReadSource source) {
    for (PairState& pair : answers)
      if (!pair.liked) pair.item_version = 0;
    return {std::move(answers), source, as_of};
  }
};

}  // namespace routing_internal

template <class Primary, class Standby>
class ReadRouting {
 public:
  using CountsDone = routing_internal::CountsKind::Done;
  using PairsDone = routing_internal::PairsKind::Done;

  // `pushed` is called after reads were given to the reader or a replica.
  ReadRouting(Primary& primary, std::function<void()> pushed, const Clock& clock = Clock::System())
      : primary_(primary), pushed_(std::move(pushed)), clock_(clock) {}

  void Add(std::unique_ptr<Standby> replica) { replicas_.push_back(std::move(replica)); }
  void Start();
  void Stop();

  // Requires at least one item.
  void Counts(const std::vector<ItemRead>& items, Consistency consistency, const CallLimits& limits,
              CountsDone done);
  void HasLiked(UserId user, const std::vector<ItemRead>& items, Consistency consistency,
                const CallLimits& limits, PairsDone done);

  // Ends what has waited too long, and asks again what is to be asked again. Call it now and then
  // while not idle.
  void Tick();
  bool idle() const;
  const std::vector<std::unique_ptr<Standby>>& replicas() const { return replicas_; }
  // Keys that a replica had in too old a version. Rising.
  int64_t keys_older_than_token() const { return keys_older_than_token_; }

 private:
  template <class Kind>
  struct Open;
  template <class Kind>
  void Begin(const std::shared_ptr<Open<Kind>>& read, Consistency consistency);
  template <class Kind>
  void AskReplica(Standby& replica, const std::shared_ptr<Open<Kind>>& read);
  template <class Kind>
  void AskPrimary(const std::shared_ptr<Open<Kind>>& read, std::vector<size_t> places);
  // The places whose answers are older than they may be, if it is worth while to ask again.
  template <class Kind>
  std::vector<size_t> NotYetVisible(Open<Kind>& read, const std::vector<size_t>& places) const;
  Standby* Pick();

  Primary& primary_;
  const std::function<void()> pushed_;
  const Clock& clock_;
  std::vector<std::unique_ptr<Standby>> replicas_;
  size_t next_ = 0;  // Whose turn it is.
  // Questions, and for which tick from now.
  struct Again {
    int ticks;
    absl::AnyInvocable<void()> ask;
  };
  std::vector<Again> again_;
  int64_t keys_older_than_token_ = 0;
};

// A read that has not ended. Callbacks share it: a read is at one server at a time, but its parts
// may have been answered by two.
template <class Primary, class Standby>
template <class Kind>
struct ReadRouting<Primary, Standby>::Open {
  std::vector<typename Kind::Key> keys;
  std::vector<int64_t> min_versions;  // Of the keys.
  CallLimits limits;
  typename Kind::Done done;
  std::vector<typename Kind::Answer> answers;
  absl::Time as_of = absl::InfiniteFuture();
  ReadSource source = ReadSource::kPrimary;  // kReplica if any of the answers is from one.
  int asked_again = 0;

  void End() { done(Kind::Whole(std::move(answers), as_of, source)); }
};

// ---- Of the store.

template <class Primary, class Standby>
void ReadRouting<Primary, Standby>::Start() {
  for (const auto& replica : replicas_) replica->Start();
}

template <class Primary, class Standby>
void ReadRouting<Primary, Standby>::Stop() {
  for (const auto& replica : replicas_) replica->Stop();
}

template <class Primary, class Standby>
void ReadRouting<Primary, Standby>::Tick() {
  for (const auto& replica : replicas_) replica->DropUnwanted();
  for (Again& again : std::exchange(again_, {})) {
    if (--again.ticks > 0) {
      again_.push_back(std::move(again));
    } else {
      again.ask();
    }
  }
}

template <class Primary, class Standby>
bool ReadRouting<Primary, Standby>::idle() const {
  return again_.empty() && std::all_of(replicas_.begin(), replicas_.end(),
                                       [](const auto& replica) { return replica->idle(); });
}

// ---- Reads.

template <class Primary, class Standby>
void ReadRouting<Primary, Standby>::Counts(const std::vector<ItemRead>& items,
                                           Consistency consistency, const CallLimits& limits,
                                           CountsDone done) {
  auto read = std::make_shared<Open<routing_internal::CountsKind>>();
  read->keys.reserve(items.size());
  read->min_versions.reserve(items.size());
  for (const ItemRead& item : items) {
    read->keys.push_back(item.item);
    read->min_versions.push_back(item.min_version);
  }
  read->limits = limits;
  read->done = std::move(done);
  Begin(read, consistency);
}

template <class Primary, class Standby>
void ReadRouting<Primary, Standby>::HasLiked(UserId user, const std::vector<ItemRead>& items,
                                             Consistency consistency, const CallLimits& limits,
                                             PairsDone done) {
  auto read = std::make_shared<Open<routing_internal::PairsKind>>();
  read->keys.reserve(items.size());
  read->min_versions.reserve(items.size());
  for (const ItemRead& item : items) {
    read->keys.push_back({user, item.item});
    read->min_versions.push_back(item.min_version);
  }
  read->limits = limits;
  read->done = std::move(done);
  Begin(read, consistency);
}

template <class Primary, class Standby>
Standby* ReadRouting<Primary, Standby>::Pick() {
  const MonotonicTime now = clock_.MonotonicNow();
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Standby& replica = *replicas_[next_++ % replicas_.size()];
    if (replica.usable(now)) return &replica;
  }
  return nullptr;
}

template <class Primary, class Standby>
template <class Kind>
void ReadRouting<Primary, Standby>::Begin(const std::shared_ptr<Open<Kind>>& read,
                                          Consistency consistency) {
  read->answers.resize(read->keys.size());
  Standby* replica = consistency == Consistency::kStrong ? nullptr : Pick();
  if (replica != nullptr) {
    AskReplica(*replica, read);
    return;
  }
  std::vector<size_t> all(read->keys.size());
  std::iota(all.begin(), all.end(), size_t{0});
  AskPrimary(read, std::move(all));
}

template <class Primary, class Standby>
template <class Kind>
void ReadRouting<Primary, Standby>::AskReplica(Standby& replica,
                                               const std::shared_ptr<Open<Kind>>& read) {
  using Answers = absl::StatusOr<ReadAnswers<typename Kind::Answer>>;
  typename Kind::BatchDone answered = [this, read, asked = &replica](Answers got) {
    if (ReasonOf(got.status()) == ErrorReason::kDeadlineExceeded &&
        !read->limits.expired(clock_.MonotonicNow()))
      asked->TimedOut(read->keys.size());
    std::vector<size_t> missing;
    for (size_t i = 0; i < read->keys.size(); ++i) {
      if (got.ok() && Kind::VersionOf(got->answers[i]) >= read->min_versions[i]) {
        read->answers[i] = std::move(got->answers[i]);
        read->source = ReadSource::kReplica;
        read->as_of = std::min(read->as_of, got->as_of);
      } else {
        missing.push_back(i);
        keys_older_than_token_ += got.ok() ? 1 : 0;
      }
    }
    if (missing.empty()) {
      read->End();
    } else {
      AskPrimary(read, std::move(missing));
    }
  };
  if (!Kind::Push(replica, read->keys, read->limits, answered)) {
    answered(ReadsOverloaded());
    return;
  }
  replica.Pump();
  pushed_();
}

template <class Primary, class Standby>
template <class Kind>
std::vector<size_t> ReadRouting<Primary, Standby>::NotYetVisible(
    Open<Kind>& read, const std::vector<size_t>& places) const {
  std::vector<size_t> missing;
  if (replicas_.empty() || read.asked_again == kAsksAgainMax) return missing;
  // A version is a clock: one of the future was made up.
  const int64_t newest = absl::ToUnixMicros(clock_.WallNow() + absl::Minutes(1));
  for (const size_t place : places) {
    const int64_t version = Kind::VersionOf(read.answers[place]);
    // Of a pair that is not liked the primary does not tell the version.
    if (Kind::TellsVersion(read.answers[place]) && version < read.min_versions[place] &&
        read.min_versions[place] < newest) {
      missing.push_back(place);
    }
  }
  if (!missing.empty()) ++read.asked_again;
  return missing;
}

// Who has gone, or has no time left, is told so there.
template <class Primary, class Standby>
template <class Kind>
void ReadRouting<Primary, Standby>::AskPrimary(const std::shared_ptr<Open<Kind>>& read,
                                               std::vector<size_t> places) {
  using Answers = absl::StatusOr<ReadAnswers<typename Kind::Answer>>;
  std::vector<typename Kind::Key> keys;
  keys.reserve(places.size());
  for (const size_t place : places) keys.push_back(read->keys[place]);
  // Who asked again has an answer already: as old as it is, it is the primary's.
  const auto give_up = [read](const absl::Status& why) {
    if (read->asked_again > 0) {
      read->End();
    } else {
      read->done(why);
    }
  };
  typename Kind::BatchDone answered = [this, read, give_up,
                                       places = std::move(places)](Answers got) {
    if (!got.ok()) {
      give_up(got.status());
      return;
    }
    for (size_t i = 0; i < places.size(); ++i)
      read->answers[places[i]] = std::move(got->answers[i]);
    read->as_of = std::min(read->as_of, got->as_of);
    std::vector<size_t> missing = NotYetVisible(*read, places);
    if (!missing.empty()) {
      const int pause = 1 << ((read->asked_again - 1) / 2);
      again_.push_back(
          {pause, [this, read, missing = std::move(missing)] { AskPrimary(read, missing); }});
      return;
    }
    read->End();
  };
  if (!Kind::Push(primary_, std::move(keys), read->limits, answered)) {
    give_up(ReadsOverloaded());
    return;
  }
  primary_.Pump();
  pushed_();
}

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READ_ROUTING_H_
