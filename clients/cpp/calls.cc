#include "clients/cpp/calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "clients/cpp/error_decoder.h"

namespace counter::client {
namespace {

Error BadReply(absl::string_view message, const std::string& request_id) {
  Error error;
  error.grpc_code = grpc::INTERNAL;
  error.message = std::string(message);
  error.request_id = request_id;
  return error;
}

void Encode(const Item& item, v1::Item& out) {
  out.set_item_type(item.type);
  out.set_item_id(item.id);
}

v1::Action Encode(Action action) {
  return action == Action::kLike ? v1::ACTION_LIKE : v1::ACTION_UNLIKE;
}

v1::Consistency Encode(Consistency consistency) {
  return consistency == Consistency::kStrong ? v1::CONSISTENCY_STRONG : v1::CONSISTENCY_CACHED;
}

Source Decode(v1::Source source) {
  switch (source) {
    case v1::SOURCE_CACHE:
      return Source::kCache;
    case v1::SOURCE_REPLICA:
      return Source::kReplica;
    case v1::SOURCE_PRIMARY:
      return Source::kPrimary;
    default:
      return Source::kUnknown;
  }
}

absl::Time Decode(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

// ItemCount and GetCountResponse say the same but for the item.
template <class Message>
ItemCount DecodeCount(const Message& message, Item item) {
  return {std::move(item), message.count(), Decode(message.source()), Decode(message.as_of_time()),
          message.consistency_token()};
}

Result<Applied> Decode(const v1::MutationResult& result, const std::string& request_id) {
  switch (result.outcome()) {
    case v1::OUTCOME_LIKED:
    case v1::OUTCOME_UNLIKED:
      return Applied{true, result.count(), result.consistency_token()};
    case v1::OUTCOME_ALREADY_LIKED:
    case v1::OUTCOME_NOT_LIKED:
      return Applied{false, result.count(), result.consistency_token()};
    default:
      break;
  }
  if (result.error().code() == 0)
    return BadReply("the server answered an outcome that this client does not know", request_id);
  return DecodeError(result.error(), request_id);
}

}  // namespace

std::string ServerMetadata(const grpc::ClientContext& context, const char* key) {
  for (const auto* metadata :
       {&context.GetServerInitialMetadata(), &context.GetServerTrailingMetadata()}) {
    const auto found = metadata->find(key);
    if (found != metadata->end()) return std::string(found->second.data(), found->second.size());
  }
  return "";
}

Error Refuse(absl::string_view field, absl::string_view description) {
  Error error;
  error.kind = ErrorKind::kInvalidArgument;
  error.grpc_code = grpc::INVALID_ARGUMENT;
  error.message = absl::StrCat(field, ": ", description);
  error.violations.push_back({std::string(field), std::string(description)});
  error.not_applied = true;
  return error;
}

Ask<v1::LikeRequest, v1::LikeResponse, LikeReply> Calls::Like(int64_t user_id,
                                                              const Item& item) const {
  Ask<v1::LikeRequest, v1::LikeResponse, LikeReply> ask = {&Stub::Like, &Stub::async::Like};
  ask.request.set_user_id(user_id);
  Encode(item, *ask.request.mutable_item());
  ask.decode = [this, item](const v1::LikeResponse& response,
                            const std::string& request_id) -> Result<LikeReply> {
    tokens_.Keep(item, response.consistency_token());
    return LikeReply{response.status() == v1::LIKE_STATUS_LIKED, response.count(),
                     response.consistency_token(), request_id};
  };
  return ask;
}

Ask<v1::UnlikeRequest, v1::UnlikeResponse, UnlikeReply> Calls::Unlike(int64_t user_id,
                                                                      const Item& item) const {
  Ask<v1::UnlikeRequest, v1::UnlikeResponse, UnlikeReply> ask = {&Stub::Unlike,
                                                                 &Stub::async::Unlike};
  ask.request.set_user_id(user_id);
  Encode(item, *ask.request.mutable_item());
  ask.decode = [this, item](const v1::UnlikeResponse& response,
                            const std::string& request_id) -> Result<UnlikeReply> {
    tokens_.Keep(item, response.consistency_token());
    return UnlikeReply{response.status() == v1::UNLIKE_STATUS_UNLIKED, response.count(),
                       response.consistency_token(), request_id};
  };
  return ask;
}

Ask<v1::WriteLikesRequest, v1::WriteLikesResponse, WriteLikesReply> Calls::WriteLikes(
    const std::vector<Mutation>& mutations) const {
  Ask<v1::WriteLikesRequest, v1::WriteLikesResponse, WriteLikesReply> ask = {
      &Stub::WriteLikes, &Stub::async::WriteLikes};
  std::vector<Item> items;
  for (const Mutation& mutation : mutations) {
    v1::Mutation& encoded = *ask.request.add_mutations();
    encoded.set_user_id(mutation.user_id);
    Encode(mutation.item, *encoded.mutable_item());
    encoded.set_action(Encode(mutation.action));
    items.push_back(mutation.item);
  }
  ask.decode = [this, items](const v1::WriteLikesResponse& response,
                             const std::string& request_id) -> Result<WriteLikesReply> {
    if (static_cast<size_t>(response.results_size()) != items.size())
      return BadReply("the server answered another number of results than was asked for",
                      request_id);
    WriteLikesReply reply = {{}, request_id};
    for (int i = 0; i < response.results_size(); ++i) {
      reply.results.push_back(Decode(response.results(i), request_id));
      if (reply.results.back().ok())
        tokens_.Keep(items[i], reply.results.back()->consistency_token);
    }
    return reply;
  };
  return ask;
}

Ask<v1::GetCountRequest, v1::GetCountResponse, CountReply> Calls::Count(
    const Item& item, const ReadOptions& read) const {
  Ask<v1::GetCountRequest, v1::GetCountResponse, CountReply> ask = {&Stub::GetCount,
                                                                    &Stub::async::GetCount};
  if (read.consistency_tokens.size() > 1) {
    ask.refused = Refuse("consistency_tokens", "expected at most one for the count of one item");
    return ask;
  }
  Encode(item, *ask.request.mutable_item());
  ask.request.set_consistency(Encode(read.consistency));
  for (const std::string& token : TokensFor(read, {item})) ask.request.set_consistency_token(token);
  ask.decode = [item](const v1::GetCountResponse& response,
                      const std::string& request_id) -> Result<CountReply> {
    return CountReply{DecodeCount(response, item), request_id};
  };
  return ask;
}

Ask<v1::BatchGetCountsRequest, v1::BatchGetCountsResponse, CountsReply> Calls::Counts(
    const std::vector<Item>& items, const ReadOptions& read) const {
  Ask<v1::BatchGetCountsRequest, v1::BatchGetCountsResponse, CountsReply> ask = {
      &Stub::BatchGetCounts, &Stub::async::BatchGetCounts};
  for (const Item& item : items) Encode(item, *ask.request.add_items());
  ask.request.set_consistency(Encode(read.consistency));
  for (const std::string& token : TokensFor(read, items)) ask.request.add_consistency_tokens(token);
  ask.decode = [asked = items.size()](const v1::BatchGetCountsResponse& response,
                                      const std::string& request_id) -> Result<CountsReply> {
    if (static_cast<size_t>(response.counts_size()) != asked)
      return BadReply("the server answered another number of counts than was asked for",
                      request_id);
    CountsReply reply = {{}, request_id};
    for (const v1::ItemCount& count : response.counts())
      reply.counts.push_back(
          DecodeCount(count, {count.item().item_type(), count.item().item_id()}));
    return reply;
  };
  return ask;
}

v1::WatchCountsRequest Calls::Watch(const std::vector<Item>& items,
                                    const std::vector<std::string>& consistency_tokens) {
  v1::WatchCountsRequest request;
  for (const Item& item : items) Encode(item, *request.add_items());
  for (const std::string& token : consistency_tokens) request.add_consistency_tokens(token);
  return request;
}

CountsUpdate Calls::DecodeUpdate(const v1::WatchCountsResponse& response) {
  CountsUpdate update = {{}, response.snapshot()};
  for (const v1::ItemCount& count : response.counts())
    update.counts.push_back(DecodeCount(count, {count.item().item_type(), count.item().item_id()}));
  return update;
}

Ask<v1::HasLikedRequest, v1::HasLikedResponse, HasLikedReply> Calls::HasLiked(
    int64_t user_id, const std::vector<Item>& items, const ReadOptions& read) const {
  Ask<v1::HasLikedRequest, v1::HasLikedResponse, HasLikedReply> ask = {&Stub::HasLiked,
                                                                       &Stub::async::HasLiked};
  ask.request.set_user_id(user_id);
  for (const Item& item : items) Encode(item, *ask.request.add_items());
  ask.request.set_consistency(Encode(read.consistency));
  for (const std::string& token : TokensFor(read, items)) ask.request.add_consistency_tokens(token);
  ask.decode = [asked = items.size()](const v1::HasLikedResponse& response,
                                      const std::string& request_id) -> Result<HasLikedReply> {
    if (static_cast<size_t>(response.liked_size()) != asked)
      return BadReply("the server answered another number of answers than was asked for",
                      request_id);
    return HasLikedReply{{response.liked().begin(), response.liked().end()},
                         Decode(response.source()),
                         Decode(response.as_of_time()),
                         request_id};
  };
  return ask;
}

Ask<v1::ListLikesRequest, v1::ListLikesResponse, LikesReply> Calls::ListLikes(
    int64_t user_id, const Page& page) const {
  Ask<v1::ListLikesRequest, v1::ListLikesResponse, LikesReply> ask = {&Stub::ListLikes,
                                                                      &Stub::async::ListLikes};
  ask.request.set_user_id(user_id);
  for (const std::string& type : page.item_types) ask.request.add_item_types(type);
  ask.request.set_page_size(page.size);
  ask.request.set_page_token(page.token);
  ask.decode = [](const v1::ListLikesResponse& response,
                  const std::string& request_id) -> Result<LikesReply> {
    LikesReply reply = {{}, response.next_page_token(), request_id};
    for (const v1::LikedItem& like : response.likes())
      reply.likes.push_back(
          {{like.item().item_type(), like.item().item_id()}, Decode(like.liked_at())});
    return reply;
  };
  return ask;
}

Ask<v1::ListLikersRequest, v1::ListLikersResponse, LikersReply> Calls::ListLikers(
    const Item& item, const Page& page) const {
  Ask<v1::ListLikersRequest, v1::ListLikersResponse, LikersReply> ask = {&Stub::ListLikers,
                                                                         &Stub::async::ListLikers};
  Encode(item, *ask.request.mutable_item());
  ask.request.set_page_size(page.size);
  ask.request.set_page_token(page.token);
  ask.decode = [](const v1::ListLikersResponse& response,
                  const std::string& request_id) -> Result<LikersReply> {
    LikersReply reply = {{}, response.next_page_token(), request_id};
    for (const v1::Liker& liker : response.likers())
      reply.likers.push_back({liker.user_id(), Decode(liker.liked_at())});
    return reply;
  };
  return ask;
}

}  // namespace counter::client
