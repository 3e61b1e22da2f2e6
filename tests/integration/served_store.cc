#include "tests/integration/served_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error.h"
#include "server/consistency_token.h"

namespace counter::testing {
namespace {

client::Item ToClient(const Item& item) { return {"post", item.id}; }

std::vector<client::Item> ToClient(const std::vector<ItemRead>& reads) {
  std::vector<client::Item> items;
  items.reserve(reads.size());
  for (const ItemRead& read : reads) items.push_back(ToClient(read.item));
  return items;
}

client::Mutation ToClient(const Mutation& mutation) {
  return {mutation.user.value, ToClient(mutation.item),
          mutation.action == Action::kLike ? client::Action::kLike : client::Action::kUnlike};
}

client::CallOptions ToClient(const CallLimits& limits) {
  constexpr absl::Duration kDeadlineMax = absl::Minutes(1);
  return {.deadline =
              std::min(Between(Clock::System().MonotonicNow(), limits.deadline), kDeadlineMax)};
}

absl::Status ToStatus(const client::Error& error) {
  static const std::map<client::ErrorKind, ErrorReason> kReasons = {
      {client::ErrorKind::kInvalidArgument, ErrorReason::kInvalidRequest},
      {client::ErrorKind::kRateLimited, ErrorReason::kRateLimited},
      {client::ErrorKind::kOverloaded, ErrorReason::kOverloaded},
      {client::ErrorKind::kUnavailable, ErrorReason::kStoreUnavailable},
      {client::ErrorKind::kDeadlineExceeded, ErrorReason::kDeadlineExceeded},
      {client::ErrorKind::kCancelled, ErrorReason::kCancelled},
  };
  const auto reason = kReasons.find(error.kind);
  absl::Status status = MakeError(
      reason == kReasons.end() ? ErrorReason::kInternal : reason->second, error.ToString());
  if (error.not_applied) MarkNotApplied(status);
  return status;
}

int64_t VersionOf(const std::string& token) {
  const std::optional<ConsistencyToken> decoded = DecodeConsistencyToken(token);
  return decoded.has_value() ? decoded->version : 0;
}

template <class Reply>
absl::StatusOr<Applied> FromOne(const client::Result<Reply>& reply) {
  if (!reply.ok()) return ToStatus(reply.error());
  return Applied{reply->changed, reply->count, VersionOf(reply->consistency_token)};
}

}  // namespace

Task<std::vector<absl::StatusOr<Applied>>> ServedStore::Apply(std::vector<Mutation> mutations,
                                                              CallLimits limits) {
  std::vector<absl::StatusOr<Applied>> results;
  const client::CallOptions call = ToClient(limits);
  if (mutations.size() == 1) {
    const Mutation& mutation = mutations[0];
    const client::Item item = ToClient(mutation.item);
    if (mutation.action == Action::kLike) {
      results.push_back(FromOne(client_.Like(mutation.user.value, item, call)));
    } else {
      results.push_back(FromOne(client_.Unlike(mutation.user.value, item, call)));
    }
    co_return results;
  }
  std::vector<client::Mutation> asked;
  asked.reserve(mutations.size());
  for (const Mutation& mutation : mutations) asked.push_back(ToClient(mutation));
  const auto reply = client_.WriteLikes(asked, call);
  for (size_t i = 0; i < mutations.size(); ++i) {
    if (reply.ok()) {
      results.push_back(FromOne(reply->results[i]));
    } else {
      results.emplace_back(ToStatus(reply.error()));
    }
  }
  co_return results;
}

Task<absl::StatusOr<CountsRead>> ServedStore::Counts(std::vector<ItemRead> items,
                                                     Consistency consistency, CallLimits limits) {
  client::ReadOptions read;
  if (consistency == Consistency::kStrong) read.consistency = client::Consistency::kStrong;
  const auto reply = client_.Counts(ToClient(items), read, ToClient(limits));
  if (!reply.ok()) co_return ToStatus(reply.error());
  CountsRead counts;
  counts.as_of = absl::InfiniteFuture();
  for (const client::ItemCount& count : reply->counts) {
    counts.counts.push_back({count.count, VersionOf(count.consistency_token)});
    counts.as_of = std::min(counts.as_of, count.as_of);
  }
  co_return counts;
}

Task<absl::StatusOr<PairsRead>> ServedStore::HasLiked(UserId user, std::vector<ItemRead> items,
                                                      Consistency consistency, CallLimits limits) {
  client::ReadOptions read;
  if (consistency == Consistency::kStrong) read.consistency = client::Consistency::kStrong;
  const auto reply = client_.HasLiked(user.value, ToClient(items), read, ToClient(limits));
  if (!reply.ok()) co_return ToStatus(reply.error());
  PairsRead pairs;
  pairs.as_of = reply->as_of;
  for (const bool liked : reply->liked) pairs.pairs.push_back({liked, 0});
  co_return pairs;
}

Task<absl::StatusOr<LikesPage>> ServedStore::ListLikes(LikesQuery, CallLimits) {
  co_return MakeError(ErrorReason::kUnimplemented, "no lists through this client");
}

Task<absl::StatusOr<LikersPage>> ServedStore::ListLikers(LikersQuery, CallLimits) {
  co_return MakeError(ErrorReason::kUnimplemented, "no lists through this client");
}

Task<absl::StatusOr<AuditPage>> ServedStore::Audit(std::optional<Item>, int, CallLimits) {
  co_return MakeError(ErrorReason::kUnimplemented, "no audit through the API");
}

}  // namespace counter::testing
