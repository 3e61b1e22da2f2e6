// Calls: turns the arguments of a call into its request and its reply into a value. Internal to the
// client.
//
// No I/O: Client makes the calls, blocking or not. What a client keeps between calls, the tokens of
// its writes, is here.
//
// Threads: any number at once. Ownership: copies in, copies out; an Ask borrows the Calls.
#ifndef COUNTER_CLIENTS_CPP_CALLS_H_
#define COUNTER_CLIENTS_CPP_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cpp/client.h"
#include "clients/cpp/error.h"
#include "clients/cpp/token_cache.h"
#include "counter/v1/counter.grpc.pb.h"

namespace counter::client {

using Stub = v1::CounterService::Stub;

// A call to make: the two ways to make it, and what becomes of its reply.
template <class Request, class Response, class Reply>
struct Ask {
  grpc::Status (Stub::*blocking)(grpc::ClientContext*, const Request&, Response*) = nullptr;
  void (Stub::async::*starting)(grpc::ClientContext*, const Request*, Response*,
                                std::function<void(grpc::Status)>) = nullptr;
  Request request = {};
  // The value of a reply to a call of this name (the server's).
  std::function<Result<Reply>(const Response& response, const std::string& request_id)> decode = {};
  std::optional<Error> refused = std::nullopt;  // It cannot be asked.
};

// The key under which a call's name goes there and back.
inline constexpr char kRequestIdKey[] = "x-request-id";

// The value of `key` in what the server sent at the start or, for a call that failed at once, at
// the end; empty if absent.
std::string ServerMetadata(const grpc::ClientContext& context, const char* key);
inline std::string RequestIdOf(const grpc::ClientContext& context) {
  return ServerMetadata(context, kRequestIdKey);
}

// An error that this client found before it sent anything.
Error Refuse(absl::string_view field, absl::string_view description);

class Calls {
 public:
  // How many tokens to keep; 0: none.
  explicit Calls(size_t tokens_max) : tokens_(tokens_max) {}

  Ask<v1::LikeRequest, v1::LikeResponse, LikeReply> Like(int64_t user_id, const Item& item) const;
  Ask<v1::UnlikeRequest, v1::UnlikeResponse, UnlikeReply> Unlike(int64_t user_id,
                                                                 const Item& item) const;
  Ask<v1::WriteLikesRequest, v1::WriteLikesResponse, WriteLikesReply> WriteLikes(
      const std::vector<Mutation>& mutations) const;
  Ask<v1::GetCountRequest, v1::GetCountResponse, CountReply> Count(const Item& item,
                                                                   const ReadOptions& read) const;
  Ask<v1::BatchGetCountsRequest, v1::BatchGetCountsResponse, CountsReply> Counts(
      const std::vector<Item>& items, const ReadOptions& read) const;
  static v1::WatchCountsRequest Watch(const std::vector<Item>& items,
                                      const std::vector<std::string>& consistency_tokens);
  static CountsUpdate DecodeUpdate(const v1::WatchCountsResponse& response);
  Ask<v1::HasLikedRequest, v1::HasLikedResponse, HasLikedReply> HasLiked(
      int64_t user_id, const std::vector<Item>& items, const ReadOptions& read) const;
  Ask<v1::ListLikesRequest, v1::ListLikesResponse, LikesReply> ListLikes(int64_t user_id,
                                                                         const Page& page) const;
  Ask<v1::ListLikersRequest, v1::ListLikersResponse, LikersReply> ListLikers(
      const Item& item, const Page& page) const;

 private:
  // The tokens of the caller or, if there are none, those that were kept of these items.
  std::vector<std::string> TokensFor(const ReadOptions& read,
                                     const std::vector<Item>& items) const {
    return read.consistency_tokens.empty() ? tokens_.Of(items) : read.consistency_tokens;
  }

  mutable TokenCache tokens_;
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_CALLS_H_
