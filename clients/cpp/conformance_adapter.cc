// The adapter of clients/conformance/run: makes one call for each line of its input.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cpp/client.h"
#include "clients/cpp/credentials.h"
#include "clients/cpp/watch.h"

namespace counter::client {
namespace {

namespace json = boost::json;

std::string Text(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? "" : std::string(value->as_string());
}

bool Flag(const json::object& object, const char* name, bool absent) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? absent : value->as_bool();
}

std::vector<std::string> Texts(const json::object& object, const char* name) {
  std::vector<std::string> texts;
  if (const json::value* value = object.if_contains(name)) {
    for (const json::value& text : value->as_array()) texts.emplace_back(text.as_string());
  }
  return texts;
}

std::optional<absl::Duration> Deadline(const json::object& request) {
  const json::value* ms = request.if_contains("deadline_ms");
  if (ms == nullptr) return std::nullopt;
  return absl::Milliseconds(ms->as_int64());
}

std::string Contents(const std::string& path) {
  if (path.empty()) return "";
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t Number(const std::string& text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) std::abort();
  return number;
}

Item ParseItem(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  return {parts.at(0), Number(parts.at(1))};
}

std::vector<Item> Items(const json::object& request) {
  std::vector<Item> items;
  for (const std::string& text : Texts(request, "items")) items.push_back(ParseItem(text));
  return items;
}

Client Connect(const json::object& request) {
  Client::Options options;
  options.target = Text(request, "target");
  options.deadline = Deadline(request).value_or(options.deadline);
  options.retries = Flag(request, "retries", true);
  options.user_agent = Text(request, "user_agent");
  options.read_your_writes = Flag(request, "read_your_writes", false);
  if (request.contains("ca_file")) {
    options.credentials =
        MakeCredentials({.ca = Contents(Text(request, "ca_file")),
                         .certificate = Contents(Text(request, "certificate_file")),
                         .key = Contents(Text(request, "key_file")),
                         .bearer_token = Text(request, "bearer_token")});
  }
  return Client::Connect(options);
}

const char* Name(Source source) {
  switch (source) {
    case Source::kCache:
      return "CACHE";
    case Source::kReplica:
      return "REPLICA";
    case Source::kPrimary:
      return "PRIMARY";
    case Source::kUnknown:
      break;
  }
  return "UNKNOWN";
}

// "RATE_LIMITED" as every language's client writes it: "RateLimited".
std::string KindName(ErrorKind kind) {
  std::string name;
  const std::vector<std::string> words = absl::StrSplit(ErrorKindName(kind), '_');
  for (std::string word : words) {
    absl::AsciiStrToLower(&word);
    word[0] = absl::ascii_toupper(static_cast<unsigned char>(word[0]));
    name += word;
  }
  return name;
}

json::object Encode(const Error& error) {
  json::array violations;
  for (const FieldViolation& violation : error.violations)
    violations.push_back({{"field", violation.field}, {"description", violation.description}});
  json::object out = {{"kind", KindName(error.kind)},  {"code", error.grpc_code},
                      {"reason", error.reason},        {"message", error.message},
                      {"violations", violations},      {"quota", nullptr},
                      {"retry_after_ms", nullptr},     {"not_applied", error.not_applied},
                      {"request_id", error.request_id}};
  if (error.quota.has_value())
    out["quota"] = {{"subject", error.quota->subject}, {"description", error.quota->description}};
  if (error.retry_after.has_value())
    out["retry_after_ms"] = absl::ToInt64Milliseconds(*error.retry_after);
  return out;
}

// LikeReply, UnlikeReply and Applied.
template <class Reply>
json::object Encode(const Reply& reply) {
  return {{"changed", reply.changed},
          {"count", absl::StrCat(reply.count)},
          {"consistency_token", reply.consistency_token}};
}

json::object Encode(const ItemCount& count) {
  return {{"item", absl::StrCat(count.item.type, ":", count.item.id)},
          {"count", absl::StrCat(count.count)},
          {"source", Name(count.source)},
          {"as_of_ms", absl::ToUnixMillis(count.as_of)},
          {"consistency_token", count.consistency_token}};
}

json::object Encode(const WriteLikesReply& reply) {
  json::array results;
  for (const Result<Applied>& result : reply.results) {
    if (result.ok())
      results.push_back(Encode(*result));
    else
      results.push_back(json::object{{"error", Encode(result.error())}});
  }
  return {{"results", results}};
}

json::object Encode(const CountReply& reply) { return Encode(reply.count); }

json::object Encode(const CountsReply& reply) {
  json::array counts;
  for (const ItemCount& count : reply.counts) counts.push_back(Encode(count));
  return {{"counts", counts}};
}

json::object Encode(const CountsUpdate& update) {
  std::vector<ItemCount> sorted = update.counts;
  std::sort(sorted.begin(), sorted.end(), [](const ItemCount& a, const ItemCount& b) {
    return absl::StrCat(a.item.type, ":", a.item.id) < absl::StrCat(b.item.type, ":", b.item.id);
  });
  json::array counts;
  for (const ItemCount& count : sorted) counts.push_back(Encode(count));
  return {{"snapshot", update.snapshot}, {"counts", counts}};
}

json::object Encode(const HasLikedReply& reply) {
  json::array liked;
  for (const bool one : reply.liked) liked.push_back(one);
  return {{"liked", liked},
          {"source", Name(reply.source)},
          {"as_of_ms", absl::ToUnixMillis(reply.as_of)}};
}

json::object Encode(const LikedItem& like) {
  return {{"item", absl::StrCat(like.item.type, ":", like.item.id)},
          {"liked_at_ms", absl::ToUnixMillis(like.liked_at)}};
}

json::object Encode(const Liker& liker) {
  return {{"user", absl::StrCat(liker.user_id)},
          {"liked_at_ms", absl::ToUnixMillis(liker.liked_at)}};
}

json::object Encode(const LikesReply& reply) {
  json::array page;
  for (const LikedItem& like : reply.likes) page.push_back(Encode(like));
  return {{"page", page}, {"next_page_token", reply.next_page_token}};
}

json::object Encode(const LikersReply& reply) {
  json::array page;
  for (const Liker& liker : reply.likers) page.push_back(Encode(liker));
  return {{"page", page}, {"next_page_token", reply.next_page_token}};
}

template <class Reply>
json::object Answer(const Result<Reply>& result) {
  if (!result.ok()) return {{"error", Encode(result.error())}};
  json::object reply = Encode(*result);
  reply["request_id"] = result->request_id;
  return {{"reply", reply}};
}

json::object Answer(const Result<CountsUpdate>& update) {
  if (!update.ok()) return {{"error", Encode(update.error())}};
  return {{"reply", Encode(*update)}};
}

// Makes a call by the method that blocks or, with --async, by the one that calls back.
class Caller {
 public:
  Caller(const Client& client, bool async) : client_(client), async_(async) {}

  json::object Call(const json::object& request) const;

 private:
  template <class Reply>
  using Done = Client::Done<Reply>;

  // Waits for what `start` hands over.
  template <class Reply>
  static Result<Reply> Await(const std::function<void(Done<Reply>)>& start) {
    const auto promise = std::make_shared<std::promise<Result<Reply>>>();
    start([promise](Result<Reply> result) { promise->set_value(std::move(result)); });
    return promise->get_future().get();
  }

  json::object WriteLikes(const json::object& request, const CallOptions& call) const;
  json::object List(const json::object& request, const CallOptions& call) const;

  const Client& client_;
  const bool async_;
};

json::object Caller::WriteLikes(const json::object& request, const CallOptions& call) const {
  std::vector<Mutation> mutations;
  for (const json::value& value : request.at("mutations").as_array()) {
    const json::object& mutation = value.as_object();
    mutations.push_back({Number(Text(mutation, "user")), ParseItem(Text(mutation, "item")),
                         Text(mutation, "action") == "LIKE" ? Action::kLike : Action::kUnlike});
  }
  if (!async_) return Answer(client_.WriteLikes(mutations, call));
  return Answer(Await<WriteLikesReply>([&](Done<WriteLikesReply> done) {
    client_.WriteLikesAsync(mutations, std::move(done), call);
  }));
}

json::object Caller::List(const json::object& request, const CallOptions& call) const {
  const std::string method = Text(request, "call");
  const json::value* size = request.if_contains("page_size");
  const Page page = {.size = size == nullptr ? 0 : size->to_number<int>(),
                     .token = Text(request, "page_token"),
                     .item_types = Texts(request, "item_types")};
  json::array all;
  const auto take = [&all](const auto& one) {
    all.push_back(Encode(one));
    return true;
  };
  std::optional<Error> failed;
  if (absl::EndsWith(method, "likes")) {
    const int64_t user = Number(Text(request, "user"));
    if (method == "list_likes") {
      if (!async_) return Answer(client_.ListLikes(user, page, call));
      return Answer(Await<LikesReply>([&](Done<LikesReply> done) {
        client_.ListLikesAsync(user, page, std::move(done), call);
      }));
    }
    failed = client_.AllLikes(user, page, take, call);
  } else {
    const Item item = ParseItem(Text(request, "item"));
    if (method == "list_likers") {
      if (!async_) return Answer(client_.ListLikers(item, page, call));
      return Answer(Await<LikersReply>([&](Done<LikersReply> done) {
        client_.ListLikersAsync(item, page, std::move(done), call);
      }));
    }
    failed = client_.AllLikers(item, page, take, call);
  }
  if (failed.has_value()) return {{"error", Encode(*failed)}};
  return {{"reply", {{"all", all}}}};
}

json::object Caller::Call(const json::object& request) const {
  const std::string method = Text(request, "call");
  const CallOptions call = {.deadline = Deadline(request),
                            .request_id = Text(request, "request_id"),
                            .traceparent = Text(request, "traceparent")};
  const ReadOptions read = {.consistency = Text(request, "consistency") == "STRONG"
                                               ? Consistency::kStrong
                                               : Consistency::kCached,
                            .consistency_tokens = Texts(request, "tokens")};
  if (method == "write_likes") return WriteLikes(request, call);
  if (absl::StartsWith(method, "list_") || absl::StartsWith(method, "all_"))
    return List(request, call);
  if (method == "counts") {
    const std::vector<Item> items = Items(request);
    if (!async_) return Answer(client_.Counts(items, read, call));
    return Answer(Await<CountsReply>(
        [&](Done<CountsReply> done) { client_.CountsAsync(items, read, std::move(done), call); }));
  }
  if (method == "has_liked") {
    const int64_t user = Number(Text(request, "user"));
    const std::vector<Item> items = Items(request);
    if (!async_) return Answer(client_.HasLiked(user, items, read, call));
    return Answer(Await<HasLikedReply>([&](Done<HasLikedReply> done) {
      client_.HasLikedAsync(user, items, read, std::move(done), call);
    }));
  }
  const Item item = ParseItem(Text(request, "item"));
  if (method == "count") {
    if (!async_) return Answer(client_.Count(item, read, call));
    return Answer(Await<CountReply>(
        [&](Done<CountReply> done) { client_.CountAsync(item, read, std::move(done), call); }));
  }
  const int64_t user = Number(Text(request, "user"));
  if (method == "like") {
    if (!async_) return Answer(client_.Like(user, item, call));
    return Answer(Await<LikeReply>(
        [&](Done<LikeReply> done) { client_.LikeAsync(user, item, std::move(done), call); }));
  }
  if (!async_) return Answer(client_.Unlike(user, item, call));
  return Answer(Await<UnlikeReply>(
      [&](Done<UnlikeReply> done) { client_.UnlikeAsync(user, item, std::move(done), call); }));
}

Watch BeginWatch(const Client& client, const json::object& request) {
  return client.WatchCounts(Items(request), {.consistency_tokens = Texts(request, "tokens")},
                            {.deadline = Deadline(request)});
}

void Run(bool async) {
  std::optional<Client> client;
  std::optional<Watch> watch;
  for (std::string line; std::getline(std::cin, line);) {
    const json::value request = json::parse(line);
    const std::string call = Text(request.as_object(), "call");
    if (call == "connect") {
      watch.reset();
      client.reset();
      client.emplace(Connect(request.as_object()));
      std::cout << R"({"reply": {}})" << std::endl;
    } else if (call == "stop_watch") {
      watch->Stop();
      std::cout << R"({"reply": {}})" << std::endl;
    } else if (call == "watch" || call == "next_update") {
      if (call == "watch") watch.emplace(BeginWatch(*client, request.as_object()));
      std::cout << json::serialize(Answer(watch->Next())) << std::endl;
    } else {
      std::cout << json::serialize(Caller(*client, async).Call(request.as_object())) << std::endl;
    }
  }
}

}  // namespace
}  // namespace counter::client

int main(int argc, char** argv) {
  counter::client::Run(argc > 1 && argv[1] == std::string("--async"));
}
