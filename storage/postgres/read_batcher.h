// ReadBatcher: puts reads that wait together into one question.
//
// Use one for each kind of read. Push() what is asked; when the connection is free, TakeBatch()
// gives the distinct keys of what has arrived; say what came with Complete() or Fail(). One batch
// is in flight at a time, and a read never joins the batch in flight: its snapshot may be older
// than the read. It is pure: no connection and no clock of its own.
//
// Threads: one at a time. `done` of a read is called exactly once, by TakeBatch, Complete, Fail,
// DropUnwanted or FailAll; it may push again.
#ifndef COUNTER_STORAGE_POSTGRES_READ_BATCHER_H_
#define COUNTER_STORAGE_POSTGRES_READ_BATCHER_H_

#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/call_limits.h"
#include "base/error.h"

namespace counter::postgres {

// answers[i] is of keys[i] of the read.
template <class Answer>
struct ReadAnswers {
  std::vector<Answer> answers;
  absl::Time as_of;
};

template <class Key, class Answer>
class ReadBatcher {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<ReadAnswers<Answer>>)>;
  struct Limits {
    int batch_keys_max = 2'000;      // Distinct ones of a batch; one read is never split.
    int waiting_keys_max = 200'000;  // Of all reads that have not ended.
    int attempts_max = 3;            // Of one read.
  };

  explicit ReadBatcher(const Limits& limits) : limits_(limits) {}

  // False when full: `done` was not taken. Requires at least one key.
  bool Push(std::vector<Key> keys, const CallLimits& limits, Done& done) {
    const int count = static_cast<int>(keys.size());
    if (keys_ + count > limits_.waiting_keys_max) return false;
    keys_ += count;
    Read read;
    read.keys = std::move(keys);
    read.limits = limits;
    read.done = std::move(done);
    waiting_.push_back(std::move(read));
    return true;
  }

  // The next batch's distinct keys; none if nothing waits. Reads that nobody wants any more end on
  // the way. Requires that no batch is in flight.
  std::vector<Key> TakeBatch(MonotonicTime now) {
    DropFrom(waiting_, now);
    std::vector<Key> batch;
    while (!waiting_.empty()) {
      Read& read = waiting_.front();
      if (!batch.empty() &&
          batch.size() + read.keys.size() > static_cast<size_t>(limits_.batch_keys_max)) {
        break;
      }
      for (const Key& key : read.keys) {
        if (places_.emplace(key, static_cast<int>(batch.size())).second) batch.push_back(key);
      }
      ++read.attempts;
      in_flight_.splice(in_flight_.end(), waiting_, waiting_.begin());
    }
    in_batch_ = !batch.empty();
    return batch;
  }
  bool in_batch() const { return in_batch_; }

  // answers[i] is of the i-th key of the batch.
  void Complete(const std::vector<Answer>& answers, absl::Time as_of) {
    Reads reads = EndBatch();
    const Places places = std::exchange(places_, {});
    for (Read& read : reads) {
      ReadAnswers<Answer> result;
      result.as_of = as_of;
      result.answers.reserve(read.keys.size());
      for (const Key& key : read.keys)
        result.answers.push_back(answers[static_cast<size_t>(places.find(key)->second)]);
      End(read, std::move(result));
    }
  }

  // The batch was not answered. With `again` its reads wait once more, unless they were tried often
  // enough.
  void Fail(const absl::Status& error, bool again) {
    Reads reads = EndBatch();
    places_.clear();
    Reads once_more;
    for (auto read = reads.begin(); read != reads.end();) {
      const auto at = read++;
      if (again && at->attempts < limits_.attempts_max)
        once_more.splice(once_more.end(), reads, at);
    }
    waiting_.splice(waiting_.begin(), once_more);
    for (Read& read : reads) End(read, error);
  }

  // Ends reads that have expired or were cancelled, in flight or not.
  void DropUnwanted(MonotonicTime now) {
    DropFrom(waiting_, now);
    DropFrom(in_flight_, now);
  }

  // Ends all reads, in flight or not.
  void FailAll(const absl::Status& error) {
    Reads reads = std::move(waiting_);
    waiting_.clear();
    reads.splice(reads.begin(), in_flight_);
    for (Read& read : reads) End(read, error);
  }

  // Whether no read waits for an answer.
  bool idle() const { return waiting_.empty() && in_flight_.empty(); }
  int keys() const { return keys_; }
  int reads() const { return static_cast<int>(waiting_.size() + in_flight_.size()); }

 private:
  struct Read {
    std::vector<Key> keys;
    CallLimits limits;
    Done done;
    int attempts = 0;
  };
  using Reads = std::list<Read>;
  using Places = absl::flat_hash_map<Key, int>;

  Reads EndBatch() {
    in_batch_ = false;
    return std::exchange(in_flight_, {});
  }

  void End(Read& read, absl::StatusOr<ReadAnswers<Answer>> result) {
    keys_ -= static_cast<int>(read.keys.size());
    read.done(std::move(result));
  }

  void DropFrom(Reads& reads, MonotonicTime now) {
    Reads dropped;
    for (auto read = reads.begin(); read != reads.end();) {
      const auto at = read++;
      if (at->limits.expired(now) || at->limits.cancellation.cancelled())
        dropped.splice(dropped.end(), reads, at);
    }
    for (Read& read : dropped) {
      End(read, read.limits.cancellation.cancelled()
                    ? MakeError(ErrorReason::kCancelled, "the caller went away")
                    : MakeError(ErrorReason::kDeadlineExceeded,
                                "the store did not answer before the deadline"));
    }
  }

  const Limits limits_;
  Reads waiting_;
  Reads in_flight_;
  Places places_;  // Of the batch in flight.
  bool in_batch_ = false;
  int keys_ = 0;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READ_BATCHER_H_
