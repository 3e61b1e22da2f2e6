// ReadRouter: which server answers a read, and what happens if it does not.
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
#ifndef COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_
#define COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/call_limits.h"
#include "storage/like_store.h"
#include "storage/postgres/reader.h"
#include "storage/postgres/replica.h"
#include "storage/postgres/store_stats.h"

namespace counter::postgres {

// What a read ends with that finds its queue full.
absl::Status ReadsOverloaded();

class ReadRouter {
 public:
  using CountsDone = absl::AnyInvocable<void(absl::StatusOr<CountsRead>)>;
  using PairsDone = absl::AnyInvocable<void(absl::StatusOr<PairsRead>)>;

  // `pushed` is called after reads were given to the reader or a replica.
  ReadRouter(Reader& primary, std::function<void()> pushed)
      : primary_(primary), pushed_(std::move(pushed)) {}

  void Add(std::unique_ptr<Replica> replica) { replicas_.push_back(std::move(replica)); }
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
  const std::vector<std::unique_ptr<Replica>>& replicas() const { return replicas_; }
  // Keys that a replica had in too old a version. Rising.
  int64_t keys_older_than_token() const { return keys_older_than_token_; }

 private:
  template <class Kind>
  struct Open;
  template <class Kind>
  void Begin(const std::shared_ptr<Open<Kind>>& read, Consistency consistency);
  template <class Kind>
  void AskReplica(Replica& replica, const std::shared_ptr<Open<Kind>>& read);
  template <class Kind>
  void AskPrimary(const std::shared_ptr<Open<Kind>>& read, std::vector<size_t> places);
  // The places whose answers are older than they may be, if it is worth while to ask again.
  template <class Kind>
  std::vector<size_t> NotYetVisible(Open<Kind>& read, const std::vector<size_t>& places) const;
  Replica* Pick();

  Reader& primary_;
  const std::function<void()> pushed_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  size_t next_ = 0;                                // Whose turn it is.
  std::vector<absl::AnyInvocable<void()>> again_;  // Questions, for the next tick.
  int64_t keys_older_than_token_ = 0;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_
