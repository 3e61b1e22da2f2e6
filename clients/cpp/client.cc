#include "clients/cpp/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "clients/cpp/error_decoder.h"
#include "clients/cpp/service_config.h"
#include "clients/cpp/token_cache.h"
#include "counter/v1/counter.grpc.pb.h"

namespace counter::client {
namespace {

using Stub = v1::CounterService::Stub;

constexpr char kRequestIdKey[] = "x-request-id";
constexpr char kTraceparentKey[] = "traceparent";
constexpr char kOutcomeKey[] = "outcome";
constexpr char kNotApplied[] = "not-applied";
constexpr size_t kRequestIdCharactersMax = 64;

// A broken connection is tried again after 100 ms at first (the least that gRPC allows) and each
// second in the end, so that the four attempts of a call meet a server that was away for a moment.
constexpr int kReconnectFirstMs = 100;
constexpr int kReconnectMaxMs = 1000;

std::shared_ptr<grpc::Channel> MakeChannel(const Client::Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kServiceConfigJson);
  // What the resolver's own TXT records may say must not override the published config.
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, options.retries ? 1 : 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMs);
  arguments.SetMaxReceiveMessageSize(options.receive_bytes_max);
  arguments.SetUserAgentPrefix(absl::StrCat(
      options.user_agent, options.user_agent.empty() ? "" : " ", "counter-cpp/", kVersion));
  return grpc::CreateCustomChannel(
      options.target,
      options.credentials != nullptr ? options.credentials : grpc::InsecureChannelCredentials(),
      arguments);
}

// An error that this client found before it sent anything.
Error Refuse(absl::string_view field, absl::string_view description) {
  Error error;
  error.kind = ErrorKind::kInvalidArgument;
  error.grpc_code = grpc::INVALID_ARGUMENT;
  error.message = absl::StrCat(field, ": ", description);
  error.violations.push_back({std::string(field), std::string(description)});
  error.not_applied = true;
  return error;
}

Error BadReply(absl::string_view message, std::string request_id) {
  Error error;
  error.grpc_code = grpc::INTERNAL;
  error.message = std::string(message);
  error.request_id = std::move(request_id);
  return error;
}

bool IsRequestIdCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

// gRPC ends the process on metadata with forbidden characters, so they are refused here.
std::optional<Error> Check(const CallOptions& call) {
  if (call.request_id.size() > kRequestIdCharactersMax ||
      !std::all_of(call.request_id.begin(), call.request_id.end(), IsRequestIdCharacter)) {
    return Refuse("request_id", "expected at most 64 characters of [A-Za-z0-9._-]");
  }
  if (!std::all_of(call.traceparent.begin(), call.traceparent.end(), IsRequestIdCharacter))
    return Refuse("traceparent", "expected a W3C trace context");
  return std::nullopt;
}

// The value of `key` in what the server sent at the start or, for a call that failed at once, at
// the end; empty if absent.
std::string ServerMetadata(const grpc::ClientContext& context, const char* key) {
  for (const auto* metadata :
       {&context.GetServerInitialMetadata(), &context.GetServerTrailingMetadata()}) {
    const auto found = metadata->find(key);
    if (found != metadata->end()) return std::string(found->second.data(), found->second.size());
  }
  return "";
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

class Client::Impl {
 public:
  explicit Impl(const Options& options)
      : deadline_(options.deadline),
        wait_for_ready_(options.retries && options.wait_for_ready),
        tokens_(options.read_your_writes ? Client::kTokensMax : 0),
        stub_(v1::CounterService::NewStub(MakeChannel(options))) {}

  // One unary call. Fills `response` and `request_id`; the error if it failed.
  template <class Request, class Response>
  std::optional<Error> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                            const Request& request, const CallOptions& call, Response& response,
                            std::string& request_id) const {
    if (std::optional<Error> refused = Check(call)) return refused;
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + call.deadline.value_or(deadline_)));
    if (!wait_for_ready_) context.set_wait_for_ready(false);
    if (!call.request_id.empty()) context.AddMetadata(kRequestIdKey, call.request_id);
    if (!call.traceparent.empty()) context.AddMetadata(kTraceparentKey, call.traceparent);
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    request_id = ServerMetadata(context, kRequestIdKey);
    if (status.ok()) return std::nullopt;
    return DecodeError(status, ServerMetadata(context, kOutcomeKey) == kNotApplied, request_id);
  }

  // The tokens of the caller or, if there are none, those that were kept of these items.
  std::vector<std::string> TokensFor(const ReadOptions& read,
                                     const std::vector<Item>& items) const {
    return read.consistency_tokens.empty() ? tokens_.Of(items) : read.consistency_tokens;
  }
  void Keep(const Item& item, const std::string& token) const { tokens_.Keep(item, token); }

 private:
  const absl::Duration deadline_;
  const bool wait_for_ready_;
  mutable TokenCache tokens_;
  const std::unique_ptr<Stub> stub_;
};

Client Client::Connect(Options options) { return Client(std::make_unique<Impl>(options)); }

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<LikeReply> Client::Like(int64_t user_id, const Item& item, const CallOptions& call) const {
  v1::LikeRequest request;
  request.set_user_id(user_id);
  Encode(item, *request.mutable_item());
  v1::LikeResponse response;
  LikeReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::Like, request, call, response, reply.request_id))
    return *std::move(error);
  reply.changed = response.status() == v1::LIKE_STATUS_LIKED;
  reply.count = response.count();
  reply.consistency_token = response.consistency_token();
  impl_->Keep(item, reply.consistency_token);
  return reply;
}

Result<UnlikeReply> Client::Unlike(int64_t user_id, const Item& item,
                                   const CallOptions& call) const {
  v1::UnlikeRequest request;
  request.set_user_id(user_id);
  Encode(item, *request.mutable_item());
  v1::UnlikeResponse response;
  UnlikeReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::Unlike, request, call, response, reply.request_id))
    return *std::move(error);
  reply.changed = response.status() == v1::UNLIKE_STATUS_UNLIKED;
  reply.count = response.count();
  reply.consistency_token = response.consistency_token();
  impl_->Keep(item, reply.consistency_token);
  return reply;
}

Result<WriteLikesReply> Client::WriteLikes(const std::vector<Mutation>& mutations,
                                           const CallOptions& call) const {
  v1::WriteLikesRequest request;
  for (const Mutation& mutation : mutations) {
    v1::Mutation& encoded = *request.add_mutations();
    encoded.set_user_id(mutation.user_id);
    Encode(mutation.item, *encoded.mutable_item());
    encoded.set_action(Encode(mutation.action));
  }
  v1::WriteLikesResponse response;
  WriteLikesReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::WriteLikes, request, call, response, reply.request_id))
    return *std::move(error);
  if (static_cast<size_t>(response.results_size()) != mutations.size())
    return BadReply("the server answered another number of results than was asked for",
                    reply.request_id);
  for (int i = 0; i < response.results_size(); ++i) {
    reply.results.push_back(Decode(response.results(i), reply.request_id));
    if (reply.results.back().ok())
      impl_->Keep(mutations[i].item, reply.results.back()->consistency_token);
  }
  return reply;
}

Result<CountReply> Client::Count(const Item& item, const ReadOptions& read,
                                 const CallOptions& call) const {
  if (read.consistency_tokens.size() > 1)
    return Refuse("consistency_tokens", "expected at most one for the count of one item");
  v1::GetCountRequest request;
  Encode(item, *request.mutable_item());
  request.set_consistency(Encode(read.consistency));
  for (const std::string& token : impl_->TokensFor(read, {item}))
    request.set_consistency_token(token);
  v1::GetCountResponse response;
  CountReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::GetCount, request, call, response, reply.request_id))
    return *std::move(error);
  reply.count = DecodeCount(response, item);
  return reply;
}

Result<CountsReply> Client::Counts(const std::vector<Item>& items, const ReadOptions& read,
                                   const CallOptions& call) const {
  v1::BatchGetCountsRequest request;
  for (const Item& item : items) Encode(item, *request.add_items());
  request.set_consistency(Encode(read.consistency));
  for (const std::string& token : impl_->TokensFor(read, items))
    request.add_consistency_tokens(token);
  v1::BatchGetCountsResponse response;
  CountsReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::BatchGetCounts, request, call, response, reply.request_id))
    return *std::move(error);
  if (static_cast<size_t>(response.counts_size()) != items.size())
    return BadReply("the server answered another number of counts than was asked for",
                    reply.request_id);
  for (const v1::ItemCount& count : response.counts())
    reply.counts.push_back(DecodeCount(count, {count.item().item_type(), count.item().item_id()}));
  return reply;
}

Result<HasLikedReply> Client::HasLiked(int64_t user_id, const std::vector<Item>& items,
                                       const ReadOptions& read, const CallOptions& call) const {
  v1::HasLikedRequest request;
  request.set_user_id(user_id);
  for (const Item& item : items) Encode(item, *request.add_items());
  request.set_consistency(Encode(read.consistency));
  for (const std::string& token : impl_->TokensFor(read, items))
    request.add_consistency_tokens(token);
  v1::HasLikedResponse response;
  HasLikedReply reply;
  if (std::optional<Error> error =
          impl_->Call(&Stub::HasLiked, request, call, response, reply.request_id))
    return *std::move(error);
  if (static_cast<size_t>(response.liked_size()) != items.size())
    return BadReply("the server answered another number of answers than was asked for",
                    reply.request_id);
  reply.liked.assign(response.liked().begin(), response.liked().end());
  reply.source = Decode(response.source());
  reply.as_of = Decode(response.as_of_time());
  return reply;
}

}  // namespace counter::client
