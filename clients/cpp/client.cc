#include "clients/cpp/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/error_decoder.h"
#include "clients/cpp/service_config.h"
#include "clients/cpp/watch.h"
#include "clients/cpp/watch_impl.h"
#include "clients/cpp/watch_state.h"
#include "counter/v1/counter.grpc.pb.h"

namespace counter::client {
namespace {

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

}  // namespace

class Client::Impl {
 public:
  explicit Impl(const Options& options)
      : calls(options.read_your_writes ? Client::kTokensMax : 0),
        deadline_(options.deadline),
        retries_(options.retries),
        wait_for_ready_(options.retries && options.wait_for_ready),
        stub_(v1::CounterService::NewStub(MakeChannel(options))) {}

  template <class Request, class Response, class Reply>
  Result<Reply> Run(const Ask<Request, Response, Reply>& ask, const CallOptions& call) const {
    if (ask.refused.has_value()) return *ask.refused;
    if (std::optional<Error> refused = Check(call)) return *std::move(refused);
    grpc::ClientContext context;
    Prepare(call, context);
    Response response;
    const grpc::Status status = (stub_.get()->*ask.blocking)(&context, ask.request, &response);
    return Outcome(ask, context, status, response);
  }

  template <class Request, class Response, class Reply>
  void Start(Ask<Request, Response, Reply> ask, Done<Reply> done, const CallOptions& call) const {
    std::optional<Error> refused = ask.refused.has_value() ? std::move(ask.refused) : Check(call);
    if (refused.has_value()) return Later(*std::move(refused), std::move(done));
    struct Flight {
      Ask<Request, Response, Reply> ask;
      Done<Reply> done;
      grpc::ClientContext context;
      Response response;
    };
    // Shared only since std::function copies; it lives until gRPC has called back.
    auto flight = std::make_shared<Flight>();
    flight->ask = std::move(ask);
    flight->done = std::move(done);
    Prepare(call, flight->context);
    (stub_->async()->*flight->ask.starting)(
        &flight->context, &flight->ask.request, &flight->response,
        [flight](const grpc::Status& status) {
          flight->done(Outcome(flight->ask, flight->context, status, flight->response));
        });
  }

  std::unique_ptr<Watch::Impl> Watching(const std::vector<Item>& items, const WatchOptions& watch,
                                        const CallOptions& call) const {
    std::optional<absl::Time> ends;
    if (call.deadline.has_value()) ends = absl::Now() + *call.deadline;
    const auto describe = [this, call](grpc::ClientContext& context) { Describe(call, context); };
    return std::make_unique<Watch::Impl>(
        Watch::Impl::Call{*stub_, describe, ends, Check(call)}, items,
        WatchState(watch.consistency_tokens, retries_ && watch.resumes));
  }

  const Calls calls;

 private:
  void Prepare(const CallOptions& call, grpc::ClientContext& context) const {
    context.set_deadline(absl::ToChronoTime(absl::Now() + call.deadline.value_or(deadline_)));
    Describe(call, context);
  }

  void Describe(const CallOptions& call, grpc::ClientContext& context) const {
    if (!wait_for_ready_) context.set_wait_for_ready(false);
    if (!call.request_id.empty()) context.AddMetadata(kRequestIdKey, call.request_id);
    if (!call.traceparent.empty()) context.AddMetadata(kTraceparentKey, call.traceparent);
  }

  template <class Request, class Response, class Reply>
  static Result<Reply> Outcome(const Ask<Request, Response, Reply>& ask,
                               const grpc::ClientContext& context, const grpc::Status& status,
                               const Response& response) {
    const std::string request_id = RequestIdOf(context);
    if (status.ok()) return ask.decode(response, request_id);
    return DecodeError(status, ServerMetadata(context, kOutcomeKey) == kNotApplied, request_id);
  }

  // What cannot be asked is a fault of the program, so it may cost a thread; it must not call back
  // inside the call.
  template <class Reply>
  static void Later(Error error, Done<Reply> done) {
    std::thread([error = std::move(error), done = std::move(done)] { done(error); }).detach();
  }

  const absl::Duration deadline_;
  const bool retries_;
  const bool wait_for_ready_;
  const std::unique_ptr<Stub> stub_;
};

Client Client::Connect(const Options& options) { return Client(std::make_unique<Impl>(options)); }

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<LikeReply> Client::Like(int64_t user_id, const Item& item, const CallOptions& call) const {
  return impl_->Run(impl_->calls.Like(user_id, item), call);
}

void Client::LikeAsync(int64_t user_id, const Item& item, Done<LikeReply> done,
                       const CallOptions& call) const {
  impl_->Start(impl_->calls.Like(user_id, item), std::move(done), call);
}

Result<UnlikeReply> Client::Unlike(int64_t user_id, const Item& item,
                                   const CallOptions& call) const {
  return impl_->Run(impl_->calls.Unlike(user_id, item), call);
}

void Client::UnlikeAsync(int64_t user_id, const Item& item, Done<UnlikeReply> done,
                         const CallOptions& call) const {
  impl_->Start(impl_->calls.Unlike(user_id, item), std::move(done), call);
}

Result<WriteLikesReply> Client::WriteLikes(const std::vector<Mutation>& mutations,
                                           const CallOptions& call) const {
  return impl_->Run(impl_->calls.WriteLikes(mutations), call);
}

void Client::WriteLikesAsync(const std::vector<Mutation>& mutations, Done<WriteLikesReply> done,
                             const CallOptions& call) const {
  impl_->Start(impl_->calls.WriteLikes(mutations), std::move(done), call);
}

Result<CountReply> Client::Count(const Item& item, const ReadOptions& read,
                                 const CallOptions& call) const {
  return impl_->Run(impl_->calls.Count(item, read), call);
}

void Client::CountAsync(const Item& item, const ReadOptions& read, Done<CountReply> done,
                        const CallOptions& call) const {
  impl_->Start(impl_->calls.Count(item, read), std::move(done), call);
}

Result<CountsReply> Client::Counts(const std::vector<Item>& items, const ReadOptions& read,
                                   const CallOptions& call) const {
  return impl_->Run(impl_->calls.Counts(items, read), call);
}

void Client::CountsAsync(const std::vector<Item>& items, const ReadOptions& read,
                         Done<CountsReply> done, const CallOptions& call) const {
  impl_->Start(impl_->calls.Counts(items, read), std::move(done), call);
}

Result<HasLikedReply> Client::HasLiked(int64_t user_id, const std::vector<Item>& items,
                                       const ReadOptions& read, const CallOptions& call) const {
  return impl_->Run(impl_->calls.HasLiked(user_id, items, read), call);
}

void Client::HasLikedAsync(int64_t user_id, const std::vector<Item>& items, const ReadOptions& read,
                           Done<HasLikedReply> done, const CallOptions& call) const {
  impl_->Start(impl_->calls.HasLiked(user_id, items, read), std::move(done), call);
}

Result<LikesReply> Client::ListLikes(int64_t user_id, const Page& page,
                                     const CallOptions& call) const {
  return impl_->Run(impl_->calls.ListLikes(user_id, page), call);
}

void Client::ListLikesAsync(int64_t user_id, const Page& page, Done<LikesReply> done,
                            const CallOptions& call) const {
  impl_->Start(impl_->calls.ListLikes(user_id, page), std::move(done), call);
}

Result<LikersReply> Client::ListLikers(const Item& item, const Page& page,
                                       const CallOptions& call) const {
  return impl_->Run(impl_->calls.ListLikers(item, page), call);
}

void Client::ListLikersAsync(const Item& item, const Page& page, Done<LikersReply> done,
                             const CallOptions& call) const {
  impl_->Start(impl_->calls.ListLikers(item, page), std::move(done), call);
}

Watch Client::WatchCounts(const std::vector<Item>& items, const WatchOptions& watch,
                          const CallOptions& call) const {
  return Watch(impl_->Watching(items, watch, call));
}

std::optional<Error> Client::AllLikes(int64_t user_id, Page page,
                                      const std::function<bool(const LikedItem& like)>& each,
                                      const CallOptions& call) const {
  do {
    const Result<LikesReply> reply = ListLikes(user_id, page, call);
    if (!reply.ok()) return reply.error();
    for (const LikedItem& like : reply->likes) {
      if (!each(like)) return std::nullopt;
    }
    page.token = reply->next_page_token;
  } while (!page.token.empty());
  return std::nullopt;
}

std::optional<Error> Client::AllLikers(const Item& item, Page page,
                                       const std::function<bool(const Liker& liker)>& each,
                                       const CallOptions& call) const {
  do {
    const Result<LikersReply> reply = ListLikers(item, page, call);
    if (!reply.ok()) return reply.error();
    for (const Liker& liker : reply->likers) {
      if (!each(liker)) return std::nullopt;
    }
    page.token = reply->next_page_token;
  } while (!page.token.empty());
  return std::nullopt;
}

}  // namespace counter::client
