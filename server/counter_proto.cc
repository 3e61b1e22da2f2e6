#include "server/counter_proto.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/error.h"
#include "server/callers/callers.h"
#include "server/status.h"

namespace counter {
namespace {

// The service takes these enums by number.
static_assert(v1::ACTION_LIKE == 1 && v1::ACTION_UNLIKE == 2);
static_assert(v1::CONSISTENCY_CACHED == 1 && v1::CONSISTENCY_STRONG == 2);

ItemRef ToItemRef(const v1::Item& item) { return {item.item_type(), item.item_id()}; }

template <class Items>
std::vector<ItemRef> ToItemRefs(const Items& items) {
  std::vector<ItemRef> refs;
  // More than the limit is refused by its number alone, but the number must be seen.
  refs.reserve(items.size());
  for (const v1::Item& item : items) refs.push_back(ToItemRef(item));
  return refs;
}

v1::Source ToProto(AnswerSource source) {
  switch (source) {
    case AnswerSource::kCache:
      return v1::SOURCE_CACHE;
    case AnswerSource::kReplica:
      return v1::SOURCE_REPLICA;
    case AnswerSource::kPrimary:
      return v1::SOURCE_PRIMARY;
  }
  return v1::SOURCE_UNSPECIFIED;
}

void SetTimestamp(absl::Time time, google::protobuf::Timestamp& out) {
  absl::Duration rest;
  out.set_seconds(absl::IDivDuration(time - absl::UnixEpoch(), absl::Seconds(1), &rest));
  out.set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
}

// GetCountResponse and ItemCount share these fields.
template <class Proto>
void SetCount(CountAnswer answer, Proto& out) {
  out.set_count(answer.count);
  out.set_source(ToProto(answer.source));
  SetTimestamp(answer.as_of, *out.mutable_as_of_time());
  out.set_consistency_token(std::move(answer.consistency_token));
}

v1::Outcome OutcomeOf(int action, bool changed) {
  if (action == v1::ACTION_LIKE) {
    return changed ? v1::OUTCOME_LIKED : v1::OUTCOME_ALREADY_LIKED;
  }
  return changed ? v1::OUTCOME_UNLIKED : v1::OUTCOME_NOT_LIKED;
}

// Errors as messages. All mutations of a batch mostly end with the same one, and under load, when
// they do, there is no time to make it a thousand times.
class ErrorMessages {
 public:
  explicit ErrorMessages(const ProtoCall& call) : is_repeat_(call.is_repeat) {}

  const google::rpc::Status& Of(const absl::Status& error) {
    if (error == last_) return message_;
    last_ = error;
    absl::Status said = error;
    if (is_repeat_) UnmarkNotApplied(said);
    message_ = ToRpcStatus(said);
    return message_;
  }

 private:
  const bool is_repeat_;
  absl::Status last_;
  google::rpc::Status message_;
};

void SetMutationResult(ErrorMessages& errors, int action, absl::StatusOr<WriteAnswer>&& answer,
                       v1::MutationResult& out) {
  if (!answer.ok()) {
    out.set_outcome(v1::OUTCOME_FAILED);
    *out.mutable_error() = errors.Of(answer.status());
    return;
  }
  out.set_outcome(OutcomeOf(action, answer->changed));
  out.set_count(answer->count);
  out.set_consistency_token(std::move(answer->consistency_token));
}

}  // namespace

std::vector<MutationRef> ToMutationRefs(const MutationMessages& mutations) {
  std::vector<MutationRef> refs;
  refs.reserve(mutations.size());
  for (const v1::Mutation& mutation : mutations) {
    refs.push_back({mutation.user_id(), ToItemRef(mutation.item()), mutation.action()});
  }
  return refs;
}

void AddMutationResults(const ProtoCall& call, const MutationMessages& mutations,
                        std::vector<absl::StatusOr<WriteAnswer>> answers,
                        google::protobuf::RepeatedPtrField<v1::MutationResult>& out) {
  ErrorMessages errors(call);
  for (int i = 0; i < mutations.size(); ++i) {
    SetMutationResult(errors, mutations[i].action(), std::move(answers[static_cast<size_t>(i)]),
                      *out.Add());
  }
}

void SetItemCount(CountAnswer answer, v1::ItemCount& out) { SetCount(std::move(answer), out); }

Task<absl::Status> CounterProto::Like(const ProtoCall& call, const v1::LikeRequest& request,
                                      v1::LikeResponse& response) {
  const absl::Status allowed = CheckUser(call.caller, request.user_id());
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<WriteAnswer>> like =
      service_.Like(request.user_id(), ToItemRef(request.item()), call.limits);
  absl::StatusOr<WriteAnswer> answer = co_await std::move(like);
  if (!answer.ok()) co_return answer.status();
  response.set_status(answer->changed ? v1::LIKE_STATUS_LIKED : v1::LIKE_STATUS_ALREADY_LIKED);
  response.set_count(answer->count);
  response.set_consistency_token(std::move(answer->consistency_token));
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::Unlike(const ProtoCall& call, const v1::UnlikeRequest& request,
                                        v1::UnlikeResponse& response) {
  const absl::Status allowed = CheckUser(call.caller, request.user_id());
  if (!allowed.ok()) co_return allowed;
  Task<absl::StatusOr<WriteAnswer>> unlike =
      service_.Unlike(request.user_id(), ToItemRef(request.item()), call.limits);
  absl::StatusOr<WriteAnswer> answer = co_await std::move(unlike);
  if (!answer.ok()) co_return answer.status();
  response.set_status(answer->changed ? v1::UNLIKE_STATUS_UNLIKED : v1::UNLIKE_STATUS_NOT_LIKED);
  response.set_count(answer->count);
  response.set_consistency_token(std::move(answer->consistency_token));
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::WriteLikes(const ProtoCall& call,
                                            const v1::WriteLikesRequest& request,
                                            v1::WriteLikesResponse& response) {
  std::vector<MutationRef> mutations = ToMutationRefs(request.mutations());
  std::vector<absl::Status> refused;
  // More than the limit are refused by their number alone.
  if (mutations.size() <= kBatchItemsMax) {
    refused.reserve(mutations.size());
    for (const MutationRef& mutation : mutations) {
      refused.push_back(CheckUser(call.caller, mutation.user_id));
    }
  }
  Task<absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>>> write =
      service_.WriteLikes(std::move(mutations), std::move(refused), call.limits);
  absl::StatusOr<std::vector<absl::StatusOr<WriteAnswer>>> answers = co_await std::move(write);
  if (!answers.ok()) co_return answers.status();
  AddMutationResults(call, request.mutations(), *std::move(answers), *response.mutable_results());
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::GetCount(const ProtoCall& call, const v1::GetCountRequest& request,
                                          v1::GetCountResponse& response) {
  CountsRequest read;
  read.single = true;
  read.items.push_back(ToItemRef(request.item()));
  read.consistency = request.consistency();
  if (!request.consistency_token().empty()) {
    read.consistency_tokens.push_back(request.consistency_token());
  }
  Task<absl::StatusOr<std::vector<CountAnswer>>> counts =
      service_.Counts(std::move(read), call.limits);
  absl::StatusOr<std::vector<CountAnswer>> answers = co_await std::move(counts);
  if (!answers.ok()) co_return answers.status();
  SetCount(std::move(answers->front()), response);
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::BatchGetCounts(const ProtoCall& call,
                                                const v1::BatchGetCountsRequest& request,
                                                v1::BatchGetCountsResponse& response) {
  CountsRequest read;
  read.items = ToItemRefs(request.items());
  read.consistency = request.consistency();
  read.consistency_tokens.assign(request.consistency_tokens().begin(),
                                 request.consistency_tokens().end());
  Task<absl::StatusOr<std::vector<CountAnswer>>> counts =
      service_.Counts(std::move(read), call.limits);
  absl::StatusOr<std::vector<CountAnswer>> answers = co_await std::move(counts);
  if (!answers.ok()) co_return answers.status();
  for (int i = 0; i < request.items_size(); ++i) {
    v1::ItemCount& out = *response.add_counts();
    *out.mutable_item() = request.items(i);
    SetCount(std::move((*answers)[i]), out);
  }
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::HasLiked(const ProtoCall& call, const v1::HasLikedRequest& request,
                                          v1::HasLikedResponse& response) {
  const absl::Status allowed = CheckUser(call.caller, request.user_id());
  if (!allowed.ok()) co_return allowed;
  LikedRequest read;
  read.user_id = request.user_id();
  read.items = ToItemRefs(request.items());
  read.consistency = request.consistency();
  read.consistency_tokens.assign(request.consistency_tokens().begin(),
                                 request.consistency_tokens().end());
  Task<absl::StatusOr<LikedAnswer>> has_liked = service_.HasLiked(std::move(read), call.limits);
  absl::StatusOr<LikedAnswer> answer = co_await std::move(has_liked);
  if (!answer.ok()) co_return answer.status();
  for (bool liked : answer->liked) response.add_liked(liked);
  response.set_source(ToProto(answer->source));
  SetTimestamp(answer->as_of, *response.mutable_as_of_time());
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::ListLikes(const ProtoCall& call,
                                           const v1::ListLikesRequest& request,
                                           v1::ListLikesResponse& response) {
  const absl::Status allowed = CheckUser(call.caller, request.user_id());
  if (!allowed.ok()) co_return allowed;
  LikesListRequest read;
  read.user_id = request.user_id();
  read.item_types.assign(request.item_types().begin(), request.item_types().end());
  read.page_size = request.page_size();
  read.page_token = request.page_token();
  Task<absl::StatusOr<LikesAnswer>> list = service_.ListLikes(std::move(read), call.limits);
  absl::StatusOr<LikesAnswer> answer = co_await std::move(list);
  if (!answer.ok()) co_return answer.status();
  for (LikedItem& like : answer->likes) {
    v1::LikedItem& out = *response.add_likes();
    out.mutable_item()->set_item_type(std::move(like.item.type));
    out.mutable_item()->set_item_id(like.item.id);
    SetTimestamp(like.liked_at, *out.mutable_liked_at());
  }
  response.set_next_page_token(std::move(answer->next_page_token));
  co_return absl::OkStatus();
}

Task<absl::Status> CounterProto::ListLikers(const ProtoCall& call,
                                            const v1::ListLikersRequest& request,
                                            v1::ListLikersResponse& response) {
  const absl::Status allowed = CheckAllUsers(call.caller);
  if (!allowed.ok()) co_return allowed;
  LikersListRequest read;
  read.item = ToItemRef(request.item());
  read.page_size = request.page_size();
  read.page_token = request.page_token();
  Task<absl::StatusOr<LikersAnswer>> list = service_.ListLikers(std::move(read), call.limits);
  absl::StatusOr<LikersAnswer> answer = co_await std::move(list);
  if (!answer.ok()) co_return answer.status();
  for (const ItemLiker& liker : answer->likers) {
    v1::Liker& out = *response.add_likers();
    out.set_user_id(liker.user_id);
    SetTimestamp(liker.liked_at, *out.mutable_liked_at());
  }
  response.set_next_page_token(std::move(answer->next_page_token));
  co_return absl::OkStatus();
}

}  // namespace counter
