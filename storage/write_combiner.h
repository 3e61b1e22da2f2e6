// WriteCombiner: one lane's queue of mutations. It decides what goes into the next statement.
//
// Use one for each connection that writes. Push() what arrives; whenever the connection can take
// work, ask NextUnit() and execute what it gives out as one statement in one transaction; say what
// became of it with Complete() or Fail(). What has arrived while a statement was in flight leaves
// together in the next one: nothing here sleeps for more. It is pure code: no thread, socket, store
// or clock of its own; the time is passed in.
//
// A unit holds likes only or unlikes only, and a pair (user, item) at most once.
// - Mutations on one pair take effect in the order of their Push. Mutations on different pairs may
//   overtake each other.
// - Equal mutations that wait next to each other in their pair's order share one row. The first of
//   them that is still wanted when the row leaves gets the row's `changed`; the others are repeats
//   and get changed = false with the same count and version. These are the answers of a sequential
//   execution: nothing that concerns the pair can come between them.
// - Any number of units may be in flight (a pipeline, or several units in one transaction), but no
//   pair is in two of them: what waits on a pair waits until its unit has ended. So a unit that has
//   to be tried again cannot be overtaken.
// - No mutation starves: a unit that is not a retry always starts from the oldest mutation that no
//   unit in flight holds back, and retries are finite.
// - A mutation that has expired or was cancelled before its row is given out is dropped: it ends
//   with kDeadlineExceeded or kCancelled, marked as not applied. A shared row leaves as long as one
//   of its mutations is wanted.
//
// Threads: for one thread at a time. Ownership: it owns what waits in it; a Ticket is the caller's.
#ifndef COUNTER_STORAGE_WRITE_COMBINER_H_
#define COUNTER_STORAGE_WRITE_COMBINER_H_

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "storage/like.h"
#include "storage/like_store.h"

namespace counter {

// Names one pushed mutation to whoever pushed it. The combiner only hands it back.
struct Ticket {
  void* call = nullptr;
  int position = 0;
};

// A mutation that is over. Each Push that returned true leads to exactly one of these.
struct EndedMutation {
  Ticket ticket;
  absl::StatusOr<Applied> result;
};

// Names a unit in flight.
using UnitId = uint64_t;

struct UnitRow {
  UserId user;
  Item item;
  int counter = 0;  // The item's place in WriteUnit::counters.
};

struct WriteUnit {
  UnitId id = 0;
  Action action = Action::kLike;
  std::vector<UnitRow> rows;   // In primary-key order: type, user, item id. Never empty.
  std::vector<Item> counters;  // The distinct items of the rows, in key order.
  int mutations = 0;           // That the rows answer; at least rows.size().
  // When the last of the mutations expires: the statement need not run longer.
  MonotonicTime deadline = MonotonicTime::max();
};

// What a failed unit means for its rows.
enum class UnitFailure {
  // The statement never began, through no fault of the unit (a neighbour rolled the transaction
  // back, the link went before the send). It is given out again, uncounted.
  kNotSent,
  // It was rolled back for a reason that may pass: a deadlock, a serialization failure. It is given
  // out again while its budget of retries lasts; then its mutations end with the error.
  kRetryable,
  // It was rolled back because of something in it. Its halves are given out as units of their own,
  // so that in the end only the rows at fault end with the error.
  kRejected,
  // Whether it was applied is not known, or trying again is pointless: its mutations end with the
  // error.
  kFinal,
};

class WriteCombiner {
 public:
  struct Limits {
    int mutations_max = 100'000;  // Pushed and not ended, in mutations.
    int retries_max = 5;          // Of one unit after kRetryable.
  };

  explicit WriteCombiner(const Limits& limits) : limits_(limits) {}
  WriteCombiner(const WriteCombiner&) = delete;
  WriteCombiner& operator=(const WriteCombiner&) = delete;

  // Takes the mutation. False when full: it was not taken, and nothing else about it is said
  // (FullError() is what to answer).
  bool Push(const Mutation& mutation, const CallLimits& limits, Ticket ticket);
  // kOverloaded, not applied, with a retry hint: too many wait, and: those that wait are too slow.
  static absl::Status FullError();
  static absl::Status SlowError();

  // The next unit, of at most rows_max rows, or none if nothing can leave now. A retry leaves first
  // and keeps its size. Adds the mutations that were dropped on the way to `ended`. Requires
  // rows_max >= 1.
  std::optional<WriteUnit> NextUnit(int rows_max, MonotonicTime now,
                                    std::vector<EndedMutation>& ended);

  // The unit was committed; outcome i is of rows[i]. Adds the answers to `ended`. Requires that the
  // unit is in flight and that there is an outcome for each row.
  void Complete(UnitId unit, const std::vector<Applied>& outcomes,
                std::vector<EndedMutation>& ended);

  // The unit failed. `error` is what its mutations end with, if they end; the caller has marked it
  // as not applied where that is certain. Requires that the unit is in flight.
  void Fail(UnitId unit, UnitFailure failure, const absl::Status& error,
            std::vector<EndedMutation>& ended);

  // Drops everything that waits and has expired or was cancelled, wherever it stands in its pair's
  // order: for a lane that cannot send at the moment. Takes time proportional to what waits.
  void DropUnwanted(MonotonicTime now, std::vector<EndedMutation>& ended);

  // Ends everything that waits, retries too, with `error`. Units in flight are left alone.
  void FailWaiting(const absl::Status& error, std::vector<EndedMutation>& ended);

  int mutations() const { return waiting_ + in_flight_; }  // Pushed and not ended.
  int waiting() const { return waiting_; }                 // Of them, in no unit in flight.
  bool has_retries() const { return !retries_.empty(); }

 private:
  struct Pair {
    UserId user;
    Item item;
    friend bool operator==(const Pair&, const Pair&) = default;
    template <class H>
    friend H AbslHashValue(H state, const Pair& pair) {
      return H::combine(std::move(state), pair.user, pair.item);
    }
  };
  struct Asker {
    Ticket ticket;
    CallLimits limits;
  };
  // Equal mutations on one pair that share a row of a statement.
  struct Row {
    Pair pair;
    Action action = Action::kLike;
    uint64_t arrival = 0;  // Of its first mutation.
    absl::InlinedVector<Asker, 1> askers;
  };
  using Rows = std::list<Row>;  // A list, so that rows move between owners and stay where they are.
  // What waits on one pair.
  struct PairQueue {
    Rows waiting;       // In the order of arrival; neighbours differ in their action, or were
                        // parted by a drop.
    bool held = false;  // A unit in flight or a retry holds the pair.
  };
  // A unit that was given out, or will be given out again.
  struct Batch {
    Action action = Action::kLike;
    Rows rows;
    int retries = 0;
  };

  using ReadyRows = absl::btree_map<uint64_t, const Row*>;  // By arrival.

  std::optional<Batch> NextRetry(MonotonicTime now, std::vector<EndedMutation>& ended);
  std::optional<Batch> NextFresh(int rows_max, MonotonicTime now,
                                 std::vector<EndedMutation>& ended);
  Action OldestAction();
  WriteUnit GiveOut(Batch batch);
  Batch TakeBack(UnitId unit);
  void Retry(Batch batch);

  // These end mutations; EndBatch and DropRows also release the pairs of the rows that are over.
  void EndBatch(const Batch& batch, const absl::Status& error, std::vector<EndedMutation>& ended);
  void DropRows(Batch& batch, MonotonicTime now, std::vector<EndedMutation>& ended);
  static void EndRow(const Row& row, const absl::Status& error, std::vector<EndedMutation>& ended);
  // Drops the row's unwanted askers; true if none is left.
  bool DropAskers(Row& row, MonotonicTime now, std::vector<EndedMutation>& ended);

  // Nothing holds the pair any longer: its next row, if any, may leave.
  void Release(const Pair& pair);
  ReadyRows& Ready(Action action) { return ready_[static_cast<size_t>(action)]; }
  void MakeReady(const Row& row) { Ready(row.action)[row.arrival] = &row; }
  void Unready(const Row& row) { Ready(row.action).erase(row.arrival); }
  static int CountAskers(const Rows& rows);

  const Limits limits_;
  uint64_t next_arrival_ = 0;
  UnitId next_unit_ = 1;
  int waiting_ = 0;    // In mutations.
  int in_flight_ = 0;  // In mutations.

  absl::flat_hash_map<Pair, PairQueue> pairs_;
  // For each action, the rows that may leave: first of their pair, pair not held.
  std::array<ReadyRows, 2> ready_;
  std::deque<Batch> retries_;
  absl::flat_hash_map<UnitId, Batch> units_;
};

}  // namespace counter

#endif  // COUNTER_STORAGE_WRITE_COMBINER_H_
