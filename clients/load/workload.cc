#include "clients/load/workload.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/load/draw.h"
#include "proto/counter/v1/counter.pb.h"

#include <grpcpp/impl/codegen/proto_utils.h>

namespace counter::load {
namespace {

using Method = Workload::Method;

constexpr std::array<const char*, 7> kNames = {
    "Empty", "Like", "Unlike", "WriteLikes", "GetCount", "BatchGetCounts", "HasLiked"};
constexpr int64_t kColdBegin = int64_t{1} << 40;  // Beyond all ids that are drawn.

grpc::ByteBuffer Serialize(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

template <typename Message>
bool Parse(const grpc::ByteBuffer& bytes, Message& message) {
  grpc::Slice slice;
  return bytes.TrySingleSlice(&slice).ok()
             ? message.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))
             : (bytes.DumpToSingleSlice(&slice).ok() &&
                message.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
}

// Sebastiano Vigna's SplitMix64: neighbours come out far apart.
uint64_t Mix(uint64_t number) {
  uint64_t mixed = number + 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

struct Part {
  Method method = Method::kEmpty;
  double upto = 0;  // Weights up to and with this part's.
};

absl::StatusOr<std::vector<Part>> ParseCalls(const std::string& calls) {
  std::vector<Part> parts;
  double sum = 0;
  for (const absl::string_view text : absl::StrSplit(calls, ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    const auto name = std::find(kNames.begin(), kNames.end(), pair.first);
    double weight = 1;
    if (name == kNames.end() ||
        (text != pair.first && !(absl::SimpleAtod(pair.second, &weight) && weight > 0))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "calls: \"", text,
          "\"; expected a method, such as Like or BatchGetCounts, or METHOD=WEIGHT with a "
          "weight above 0, with commas between"));
    }
    parts.push_back({static_cast<Method>(name - kNames.begin()), sum += weight});
  }
  return parts;
}

class Calls : public Workload {
 public:
  Calls(const Settings& settings, std::vector<Part> parts, std::unique_ptr<Draw> items,
        std::unique_ptr<Draw> users)
      : settings_(settings),
        all_new_(settings.users == "new"),
        parts_(std::move(parts)),
        items_(std::move(items)),
        users_(std::move(users)) {}

  Call Next(std::mt19937_64& random) override;
  Verdict Judge(Method method, const grpc::ByteBuffer& reply) const override;
  bool Makes(Method method) const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [method](const Part& part) { return part.method == method; });
  }
  int64_t users_drawn() const override { return users_drawn_; }
  int64_t ItemOf(int64_t user) const override {
    return IdOf(items_->Next(Mix(static_cast<uint64_t>(user))));
  }

 private:
  struct Pair {
    int64_t user = 0;
    int64_t item = 0;
  };

  Method NextMethod(std::mt19937_64& random) const;
  int64_t NextUser(std::mt19937_64& random);
  Pair NextPair(std::mt19937_64& random);
  int64_t ReadItem(std::mt19937_64& random);
  // Of the item that was drawn as `number`.
  int64_t IdOf(int64_t number) const { return settings_.items_first - 1 + number; }
  void SetItem(v1::Item& item, int64_t id) const {
    item.set_item_type(settings_.item_type);
    item.set_item_id(id);
  }
  template <typename Request>
  grpc::ByteBuffer OnePair(const Pair& pair) const {
    Request request;
    request.set_user_id(pair.user);
    SetItem(*request.mutable_item(), pair.item);
    return Serialize(request);
  }
  counter::v1::Consistency consistency() const {
    return settings_.strong ? v1::CONSISTENCY_STRONG : v1::CONSISTENCY_CACHED;
  }

  grpc::ByteBuffer WriteLikes(std::mt19937_64& random);
  grpc::ByteBuffer BatchGetCounts(std::mt19937_64& random);
  grpc::ByteBuffer HasLiked(std::mt19937_64& random);
  Verdict JudgeMutations(const v1::WriteLikesResponse& reply) const;
  Verdict JudgeMemberships(const v1::HasLikedResponse& reply) const;

  const Settings settings_;
  const bool all_new_;
  const std::vector<Part> parts_;
  const std::unique_ptr<Draw> items_;
  const std::unique_ptr<Draw> users_;  // Null: the item's number or owner.
  std::atomic<int64_t> users_drawn_ = 0;
  // Two runs on the same data ask for different ids.
  std::atomic<int64_t> next_cold_{
      kColdBegin + std::chrono::system_clock::now().time_since_epoch().count() / 1000};
};

Method Calls::NextMethod(std::mt19937_64& random) const {
  if (parts_.size() == 1) return parts_[0].method;
  std::uniform_real_distribution<double> at(0, parts_.back().upto);
  const double found = at(random);
  for (const Part& part : parts_) {
    if (found < part.upto) return part.method;
  }
  return parts_.back().method;
}

int64_t Calls::NextUser(std::mt19937_64& random) {
  ++users_drawn_;
  return users_->Next(random());
}

Calls::Pair Calls::NextPair(std::mt19937_64& random) {
  if (settings_.item_of_user) {
    const int64_t user = NextUser(random);
    return {user, ItemOf(user)};
  }
  const int64_t number = items_->Next(random());
  const int64_t item = IdOf(number);
  if (users_ != nullptr) return {NextUser(random), item};
  return {settings_.own > 0 ? (number - 1) / settings_.own + 1 : number, item};
}

int64_t Calls::ReadItem(std::mt19937_64& random) {
  if (settings_.cold_share > 0 &&
      std::uniform_real_distribution<double>(0, 1)(random) < settings_.cold_share) {
    return IdOf(next_cold_++);
  }
  return IdOf(items_->Next(random()));
}

grpc::ByteBuffer Calls::WriteLikes(std::mt19937_64& random) {
  v1::WriteLikesRequest request;
  for (int i = 0; i < settings_.batch; ++i) {
    const Pair pair = NextPair(random);
    v1::Mutation& mutation = *request.add_mutations();
    mutation.set_user_id(pair.user);
    mutation.set_action(v1::ACTION_LIKE);
    SetItem(*mutation.mutable_item(), pair.item);
  }
  return Serialize(request);
}

grpc::ByteBuffer Calls::BatchGetCounts(std::mt19937_64& random) {
  v1::BatchGetCountsRequest request;
  request.set_consistency(consistency());
  for (int i = 0; i < settings_.batch; ++i) SetItem(*request.add_items(), ReadItem(random));
  return Serialize(request);
}

grpc::ByteBuffer Calls::HasLiked(std::mt19937_64& random) {
  v1::HasLikedRequest request;
  request.set_consistency(consistency());
  request.set_user_id(users_ == nullptr ? items_->Next(random()) : NextUser(random));
  const int64_t own_begin = (request.user_id() - 1) * settings_.own;
  for (int i = 0; i < settings_.batch; ++i) {
    SetItem(*request.add_items(), settings_.own > 0 ? IdOf(own_begin + i + 1) : ReadItem(random));
  }
  return Serialize(request);
}

Workload::Call Calls::Next(std::mt19937_64& random) {
  const Method method = NextMethod(random);
  switch (method) {
    case Method::kEmpty:
      return {method, grpc::ByteBuffer(nullptr, 0)};
    case Method::kLike:
      return {method, OnePair<v1::LikeRequest>(NextPair(random))};
    case Method::kUnlike:
      return {method, OnePair<v1::UnlikeRequest>(NextPair(random))};
    case Method::kWriteLikes:
      return {method, WriteLikes(random)};
    case Method::kGetCount: {
      v1::GetCountRequest request;
      request.set_consistency(consistency());
      SetItem(*request.mutable_item(), ReadItem(random));
      return {method, Serialize(request)};
    }
    case Method::kBatchGetCounts:
      return {method, BatchGetCounts(random)};
    case Method::kHasLiked:
      return {method, HasLiked(random)};
  }
  return {};
}

Workload::Verdict Calls::JudgeMutations(const v1::WriteLikesResponse& reply) const {
  Verdict verdict = {reply.results_size(), 0, reply.results_size() != settings_.batch};
  for (const v1::MutationResult& result : reply.results()) {
    verdict.changed += result.outcome() == v1::OUTCOME_LIKED ? 1 : 0;
    verdict.wrong |= result.has_error() || result.count() < 1;
  }
  verdict.wrong |= all_new_ && verdict.changed != settings_.batch;
  return verdict;
}

Workload::Verdict Calls::JudgeMemberships(const v1::HasLikedResponse& reply) const {
  bool wrong = reply.liked_size() != settings_.batch;
  if (settings_.own > 0) {
    for (const bool liked : reply.liked()) wrong |= !liked;
  }
  return {reply.liked_size(), 0, wrong};
}

Workload::Verdict Calls::Judge(Method method, const grpc::ByteBuffer& bytes) const {
  constexpr Verdict kWrong = {0, 0, true};
  switch (method) {
    case Method::kEmpty:
      return {1, 0, false};
    case Method::kLike: {
      v1::LikeResponse reply;
      if (!Parse(bytes, reply)) return kWrong;
      const bool changed = reply.status() == v1::LIKE_STATUS_LIKED;
      return {1, changed ? 1 : 0, reply.count() < 1 || (all_new_ && !changed)};
    }
    case Method::kUnlike: {
      v1::UnlikeResponse reply;
      if (!Parse(bytes, reply)) return kWrong;
      return {1, reply.status() == v1::UNLIKE_STATUS_UNLIKED ? 1 : 0, reply.count() < 0};
    }
    case Method::kWriteLikes: {
      v1::WriteLikesResponse reply;
      return Parse(bytes, reply) ? JudgeMutations(reply) : kWrong;
    }
    case Method::kGetCount: {
      v1::GetCountResponse reply;
      if (!Parse(bytes, reply)) return kWrong;
      return {1, 0, reply.count() < 0 || reply.source() == v1::SOURCE_UNSPECIFIED};
    }
    case Method::kBatchGetCounts: {
      v1::BatchGetCountsResponse reply;
      if (!Parse(bytes, reply)) return kWrong;
      return {reply.counts_size(), 0, reply.counts_size() != settings_.batch};
    }
    case Method::kHasLiked: {
      v1::HasLikedResponse reply;
      return Parse(bytes, reply) ? JudgeMemberships(reply) : kWrong;
    }
  }
  return kWrong;
}

absl::Status Named(absl::string_view setting, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(setting, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Workload>> Workload::Make(const Settings& settings) {
  auto parts = ParseCalls(settings.calls);
  if (!parts.ok()) return parts.status();
  auto items = Draw::Parse(settings.items);
  if (!items.ok()) return Named("items", items.status());
  std::unique_ptr<Draw> users;
  if (settings.users == "owner" && settings.own == 0) {
    return absl::InvalidArgumentError("own: 0; expected 1 or more, since users is owner");
  }
  if (settings.users != "item" && settings.users != "owner") {
    auto drawn = Draw::Parse(settings.users, settings.users_first);
    if (!drawn.ok()) return Named("users", drawn.status());
    users = *std::move(drawn);
  }
  if (settings.item_of_user && (settings.users != "new" || settings.items == "new" ||
                                absl::StartsWith(settings.items, "walk"))) {
    return absl::InvalidArgumentError(
        absl::StrCat("items: \"", settings.items, "\", users: \"", settings.users,
                     "\"; expected hot, uniform:N or zipf:N, and new, since item_of_user is on"));
  }
  if (settings.users == "item" && settings.own > 0) {
    return absl::InvalidArgumentError("users: \"item\"; expected owner, since own is not 0");
  }
  if (settings.own > 0 && settings.own < settings.batch && settings.users != "owner") {
    return absl::InvalidArgumentError(absl::StrCat(
        "own: ", settings.own, "; expected 0, or at least the batch of ", settings.batch));
  }
  return std::make_unique<Calls>(settings, *std::move(parts), *std::move(items), std::move(users));
}

const char* Workload::Name(Method method) { return kNames[static_cast<size_t>(method)]; }

const std::string& Workload::Path(Method method) {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> made;
    for (const char* name : kNames) {
      made.push_back(absl::StrCat("/counter.v1.CounterService/", name));
    }
    made[0] = "/counter.rpc.testing.EchoService/Echo";
    return made;
  }();
  return paths[static_cast<size_t>(method)];
}

}  // namespace counter::load
