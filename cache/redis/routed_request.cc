#include "cache/redis/routed_request.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace counter::redis {

RoutedRequest::RoutedRequest(Commands commands)
    : commands_(std::move(commands)),
      sends_(commands_.places().size()),
      replies_(commands_.places().size()),
      open_(commands_.places().size()) {}

std::vector<RoutedRequest::Leg> RoutedRequest::Begin(const SlotMap& map) {
  std::vector<Leg> legs;
  absl::flat_hash_map<size_t, size_t> leg_of_owner;
  for (size_t i = 0; i < sends_.size(); ++i) {
    const int slot = commands_.places()[i].slot;
    const auto [found, is_new] = leg_of_owner.try_emplace(map.OwnerIndexOf(slot), legs.size());
    if (is_new) legs.push_back({map.OwnerOf(slot), /*asking=*/false, {}});
    legs[found->second].commands.push_back(i);
    ++sends_[i];
  }
  return legs;
}

Commands RoutedRequest::CommandsOf(const Leg& leg) const {
  Commands commands;
  const absl::string_view bytes = commands_.bytes();
  const std::vector<Commands::Place>& places = commands_.places();
  for (const size_t i : leg.commands) {
    const size_t begin = i == 0 ? 0 : places[i - 1].end;
    if (leg.asking) commands.Add({"ASKING"});
    commands.AddFormatted(bytes.substr(begin, places[i].end - begin));
  }
  return commands;
}

RoutedRequest::News RoutedRequest::OnAnswer(const Leg& leg, Answer answer) {
  News news;
  const size_t stride = leg.asking ? 2 : 1;  // The reply to ASKING says nothing of its own.
  if (!answer || answer->size() != stride * leg.commands.size()) {
    news.doubts_map = true;
    for (const size_t command : leg.commands) GiveUp(command);
    return news;
  }
  for (size_t i = 0; i < leg.commands.size(); ++i) {
    const size_t command = leg.commands[i];
    Reply& reply = (*answer)[stride * i + stride - 1];
    const Redirect redirect = ReadRedirect(reply, leg.node);
    if (redirect.kind == Redirect::Kind::kNone)
      Answered(command, std::move(reply));
    else
      Follow(leg, command, redirect, news);
  }
  return news;
}

void RoutedRequest::Follow(const Leg& leg, size_t command, const Redirect& redirect, News& news) {
  using Kind = Redirect::Kind;
  const int slot = commands_.places()[command].slot;
  const bool has_target = redirect.kind == Kind::kMoved || redirect.kind == Kind::kAsk;
  // What a node says of slots that it was not asked about is not believed.
  const bool is_readable =
      redirect.kind != Kind::kUnreadable && (!has_target || redirect.slot == slot);
  if (redirect.kind == Kind::kClusterDown) ++news.down;
  if (redirect.kind != Kind::kAsk && redirect.kind != Kind::kTryAgain) news.doubts_map = true;
  if (is_readable && redirect.kind == Kind::kMoved) {
    const auto is_slot = [&](const std::pair<int, Node>& one) { return one.first == slot; };
    if (std::none_of(news.moved.begin(), news.moved.end(), is_slot))
      news.moved.emplace_back(slot, redirect.node);
  }
  if (!is_readable || redirect.kind == Kind::kClusterDown || sends_[command] >= kSendsMax) {
    if (redirect.kind != Kind::kClusterDown) {
      ++news.given_up;
      news.doubts_map = true;
    }
    return GiveUp(command);
  }
  ++sends_[command];
  switch (redirect.kind) {
    case Kind::kMoved:
      ++news.moved_commands;
      return AddTo(news.next, redirect.node, /*asking=*/false, command);
    case Kind::kAsk:
      ++news.asked;
      return AddTo(news.next, redirect.node, /*asking=*/true, command);
    default:
      ++news.tried_again;
      return AddTo(news.next_after_pause, leg.node, leg.asking, command);
  }
}

void RoutedRequest::AddTo(std::vector<Leg>& legs, const Node& node, bool asking, size_t command) {
  const auto found = std::find_if(legs.begin(), legs.end(), [&](const Leg& leg) {
    return leg.asking == asking && leg.node == node;
  });
  if (found != legs.end())
    found->commands.push_back(command);
  else
    legs.push_back({node, asking, {command}});
}

void RoutedRequest::Answered(size_t command, Reply reply) {
  replies_[command] = std::move(reply);
  is_any_answered_ = true;
  --open_;
}

void RoutedRequest::GiveUp(size_t command) {
  replies_[command] = Unanswered();
  --open_;
}

Answer RoutedRequest::TakeAnswer() {
  if (!is_any_answered_) return std::nullopt;
  return std::move(replies_);
}

}  // namespace counter::redis
