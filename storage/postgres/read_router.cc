#include "storage/postgres/read_router.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/error.h"

namespace counter::postgres {
namespace {

MonotonicTime Now() { return Clock::System().MonotonicNow(); }

struct CountsKind {
  using Key = Item;
  using Answer = ItemCount;
  using Done = ReadRouter::CountsDone;
  using BatchDone = Reader::CountsBatcher::Done;

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
  using Done = ReadRouter::PairsDone;
  using BatchDone = Reader::PairsBatcher::Done;

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

}  // namespace

absl::Status ReadsOverloaded() {
  absl::Status error =
      MakeError(ErrorReason::kOverloaded, "too many reads wait for the store; try again later");
  SetRetryAfter(error, absl::Milliseconds(100));
  MarkNotApplied(error);
  return error;
}

// How often the primary is asked again, a tick apart, for what a replica has shown already.
constexpr int kAsksAgainMax = 5;

// A read that has not ended. Callbacks share it: a read is at one server at a time, but its parts
// may have been answered by two.
template <class Kind>
struct ReadRouter::Open {
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

void ReadRouter::Start() {
  for (const auto& replica : replicas_) replica->Start();
}

void ReadRouter::Stop() {
  for (const auto& replica : replicas_) replica->Stop();
}

void ReadRouter::Tick() {
  for (const auto& replica : replicas_) replica->DropUnwanted();
  for (auto& ask : std::exchange(again_, {})) ask();
}

bool ReadRouter::idle() const {
  return again_.empty() && std::all_of(replicas_.begin(), replicas_.end(),
                                       [](const auto& replica) { return replica->idle(); });
}

// ---- Reads.

void ReadRouter::Counts(const std::vector<ItemRead>& items, Consistency consistency,
                        const CallLimits& limits, CountsDone done) {
  auto read = std::make_shared<Open<CountsKind>>();
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

void ReadRouter::HasLiked(UserId user, const std::vector<ItemRead>& items, Consistency consistency,
                          const CallLimits& limits, PairsDone done) {
  auto read = std::make_shared<Open<PairsKind>>();
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

Replica* ReadRouter::Pick() {
  const MonotonicTime now = Now();
  for (size_t i = 0; i < replicas_.size(); ++i) {
    Replica& replica = *replicas_[next_++ % replicas_.size()];
    if (replica.usable(now)) return &replica;
  }
  return nullptr;
}

template <class Kind>
void ReadRouter::Begin(const std::shared_ptr<Open<Kind>>& read, Consistency consistency) {
  read->answers.resize(read->keys.size());
  Replica* replica = consistency == Consistency::kStrong ? nullptr : Pick();
  if (replica != nullptr) {
    AskReplica(*replica, read);
    return;
  }
  std::vector<size_t> all(read->keys.size());
  std::iota(all.begin(), all.end(), size_t{0});
  AskPrimary(read, std::move(all));
}

template <class Kind>
void ReadRouter::AskReplica(Replica& replica, const std::shared_ptr<Open<Kind>>& read) {
  using Answers = absl::StatusOr<ReadAnswers<typename Kind::Answer>>;
  typename Kind::BatchDone answered = [this, read, asked = &replica](Answers got) {
    if (ReasonOf(got.status()) == ErrorReason::kDeadlineExceeded && !read->limits.expired(Now()))
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

template <class Kind>
std::vector<size_t> ReadRouter::NotYetVisible(Open<Kind>& read,
                                              const std::vector<size_t>& places) const {
  std::vector<size_t> missing;
  if (replicas_.empty() || read.asked_again == kAsksAgainMax) return missing;
  // A version is a clock: one of the future was made up.
  const int64_t newest = absl::ToUnixMicros(absl::Now() + absl::Minutes(1));
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
template <class Kind>
void ReadRouter::AskPrimary(const std::shared_ptr<Open<Kind>>& read, std::vector<size_t> places) {
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
      again_.push_back([this, read, missing = std::move(missing)] { AskPrimary(read, missing); });
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
