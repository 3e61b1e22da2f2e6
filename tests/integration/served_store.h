// ServedStore: a LikeStore whose truth is behind a server's API, so that the loads which are
// written for stores run through whole servers.
//
// Requests of one mutation go as Like or Unlike, of more as WriteLikes. It cannot list or audit.
// Calls block the thread that awaits them.
//
// Threads: any. Ownership: borrows the client.
#ifndef COUNTER_TESTS_INTEGRATION_SERVED_STORE_H_
#define COUNTER_TESTS_INTEGRATION_SERVED_STORE_H_

#include <optional>
#include <string>
#include <vector>

#include "clients/cpp/client.h"
#include "storage/like_store.h"

namespace counter::testing {

class ServedStore final : public LikeStore {
 public:
  // Items are all of the type "post".
  explicit ServedStore(const Client& client) : client_(client) {}

  Task<std::vector<absl::StatusOr<Applied>>> Apply(std::vector<Mutation> mutations,
                                                   CallLimits limits) override;
  Task<absl::StatusOr<CountsRead>> Counts(std::vector<ItemRead> items, Consistency consistency,
                                          CallLimits limits) override;
  Task<absl::StatusOr<PairsRead>> HasLiked(UserId user, std::vector<ItemRead> items,
                                           Consistency consistency, CallLimits limits) override;
  Task<absl::StatusOr<LikesPage>> ListLikes(LikesQuery query, CallLimits limits) override;
  Task<absl::StatusOr<LikersPage>> ListLikers(LikersQuery query, CallLimits limits) override;
  Task<absl::StatusOr<AuditPage>> Audit(std::optional<Item> after, int items_max,
                                        CallLimits limits) override;
  std::string Timeline() const override { return "served"; }
  absl::Status Health() const override { return absl::OkStatus(); }
  void Stop() override {}

 private:
  const Client& client_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_SERVED_STORE_H_
