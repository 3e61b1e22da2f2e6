#include "cache/redis/servers.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

namespace counter::redis {
namespace {

using boost::system::error_code;

uint64_t SeedOf(const ConnectionOptions& options) {
  return options.seed != 0 ? options.seed : std::random_device()() | 1U;
}

std::vector<Node> SeedsOf(const Address& address) {
  std::vector<Node> seeds = {{address.host, address.port}};
  seeds.insert(seeds.end(), address.others.begin(), address.others.end());
  return seeds;
}

Commands MapQuestion() {
  Commands commands;
  commands.Add({"CLUSTER", "SLOTS"});
  return commands;
}

}  // namespace

Servers::Servers(boost::asio::io_context& context, const ConnectionOptions& options,
                 ConnectionCounters& counters, Listener listener)
    : context_(context),
      options_(options),
      counters_(counters),
      listener_(std::move(listener)),
      authorities_(options.address.tls ? TrustedAuthorities(options.tls_ca_file) : nullptr),
      seeds_(SeedsOf(options.address)),
      next_seed_(SeedOf(options)),
      refresh_(options.cluster.refresh_pause, options.cluster.refresh_period),
      timer_(context) {}

void Servers::Begin() { HoldSeeds(); }

void Servers::End() {
  has_ended_ = true;
  timer_.cancel();
  for (auto& [node, held] : links_) held.link->End();
  for (Paused& paused : std::exchange(paused_, {})) {
    OnLeg(paused.journey, paused.leg, std::nullopt);
    Finish(paused.journey);
  }
  UpdateUsable();
}

// ---- Links -------------------------------------------------------------------------------------

Servers::Held* Servers::Hold(const Node& node) {
  const auto found = links_.find(node);
  if (found != links_.end()) return &found->second;
  if (static_cast<int64_t>(links_.size()) >= options_.cluster.links_max) return nullptr;
  const Link::Surroundings surroundings = {context_, options_, authorities_.get(), counters_,
                                           *this};
  next_seed_ += 2;
  Held& held = links_[node];
  held.link = std::make_shared<Link>(surroundings, node, next_seed_);
  held.link->Begin();
  return &held;
}

void Servers::HoldSeeds() {
  for (const Node& seed : seeds_) Hold(seed);
}

std::string Servers::OnReady(Link& link, const Greeting& greeting) {
  const absl::Time started = clock_.WallNow() - greeting.up_for;
  if (greeting.is_of_cluster) {
    kind_ = Kind::kCluster;
    if (const auto held = links_.find(link.node()); held != links_.end())
      held->second.started = started;
    if (map_) starts_.Raise(map_->SlotsOf(link.node()), started);
    if (!map_) refresh_.Want();
    return "";
  }
  if (seeds_.size() > 1) return "several hosts are named, and this one is of no cluster";
  if (kind_ == Kind::kCluster) return "it was of a cluster, and is of none now";
  kind_ = Kind::kSingle;
  starts_.Raise(SlotSet().set(), started);
  counters_.nodes.Set(1);
  return "";
}

void Servers::OnNewRun(Link& link) {
  if (kind_ == Kind::kSingle) return TellLoss(SlotSet().set());
  if (map_) TellLoss(map_->SlotsOf(link.node()));
}

void Servers::OnUsable(Link& /*link*/) {
  UpdateUsable();
  Watch();
}

void Servers::OnNotOwner(Link& /*link*/) {
  if (kind_ != Kind::kCluster) return;
  refresh_.Want();
  Watch();
}

void Servers::OnNews(Link& link, absl::string_view what) {
  if (kind_ == Kind::kCluster || seeds_.size() > 1)
    Say(absl::StrCat(ToText(link.node()), ": ", what));
  else
    Say(std::string(what));
}

void Servers::OnTrouble(Link& /*link*/, absl::string_view what) {
  if (listener_.on_trouble) listener_.on_trouble(what);
}

void Servers::Say(const std::string& what) const {
  if (options_.say) options_.say(what);
}

void Servers::UpdateUsable() {
  bool is_usable = false;
  bool is_ready = kind_ == Kind::kSingle || map_.has_value();
  misses_owner_ = false;
  for (const auto& [node, held] : links_) {
    if (kind_ == Kind::kCluster && !held.is_owner) continue;
    is_usable = is_usable || held.link->usable();
    is_ready = is_ready && held.link->ready();
    misses_owner_ = misses_owner_ || !held.link->usable();
  }
  counters_.ready.Set(is_ready && !has_ended_ ? 1 : 0);
  is_by_slot_.store(kind_ == Kind::kCluster, std::memory_order_release);
  is_usable_.store(is_usable && !has_ended_, std::memory_order_release);
}

// ---- Requests ----------------------------------------------------------------------------------

std::optional<Finished> Servers::Take(Request request) {
  if (kind_ == Kind::kCluster) return Route(std::move(request));
  if (kind_ == Kind::kSingle) return links_.begin()->second.link->Take(std::move(request));
  counters_.requests.Add();
  counters_.lost.Add();
  return Finished{std::move(request.done), std::nullopt};
}

void Servers::Flush() {
  if (kind_ == Kind::kSingle) return links_.begin()->second.link->Flush();
  for (const std::shared_ptr<Link>& link : std::exchange(touched_, {})) link->Flush();
}

std::optional<Finished> Servers::Route(Request request) {
  if (has_ended_ || !map_ || !request.commands.has_slots()) {
    counters_.requests.Add();
    counters_.lost.Add();
    return Finished{std::move(request.done), std::nullopt};
  }
  const JourneyPtr journey = std::make_shared<Journey>(Journey{
      RoutedRequest(std::move(request.commands)), request.deadline, std::move(request.done)});
  for (const RoutedRequest::Leg& leg : journey->request.Begin(*map_)) SendLeg(journey, leg);
  if (!journey->request.is_over()) return std::nullopt;
  return Finished{std::move(journey->done), journey->request.TakeAnswer()};
}

void Servers::SendLeg(const JourneyPtr& journey, const RoutedRequest::Leg& leg) {
  Held* held = Hold(leg.node);
  // A request that is late would count against a node that is not to blame.
  if (held == nullptr || !held->link->usable() || journey->deadline <= clock_.MonotonicNow()) {
    counters_.requests.Add();
    counters_.lost.Add();
    return OnLeg(journey, leg, std::nullopt);
  }
  if (!held->is_owner) held->was_sent_on_to = true;
  // It may have started from a file that has keys of a slot which others owned since.
  if (leg.asking)
    for (const size_t command : leg.commands)
      starts_.Raise(journey->request.slot_of(command), held->started);
  touched_.push_back(held->link);
  Request request = {journey->request.CommandsOf(leg), journey->deadline,
                     [this, journey, leg](Answer answer) {
                       OnLeg(journey, leg, std::move(answer));
                       Flush();
                       Watch();
                       Finish(journey);
                     }};
  if (held->link->Take(std::move(request))) OnLeg(journey, leg, std::nullopt);
}

void Servers::OnLeg(const JourneyPtr& journey, const RoutedRequest::Leg& leg, Answer answer) {
  RoutedRequest::News news = journey->request.OnAnswer(leg, std::move(answer));
  Count(news);
  for (const auto& [slot, node] : news.moved) {
    if (!map_ || map_->OwnerOf(slot) == node || !map_->Assign(slot, node)) continue;
    moved_.set(static_cast<size_t>(slot));
    const auto held = links_.find(node);
    if (held != links_.end()) starts_.Raise(slot, held->second.started);
  }
  if (news.doubts_map) refresh_.Want();
  for (const RoutedRequest::Leg& next : news.next) SendLeg(journey, next);
  for (RoutedRequest::Leg& next : news.next_after_pause) Pause(journey, std::move(next));
}

void Servers::Count(const RoutedRequest::News& news) {
  counters_.moved.Add(news.moved_commands);
  counters_.asked.Add(news.asked);
  counters_.tried_again.Add(news.tried_again);
  counters_.cluster_down.Add(news.down);
  counters_.given_up.Add(news.given_up);
}

void Servers::Pause(const JourneyPtr& journey, RoutedRequest::Leg leg) {
  const ClusterOptions& cluster = options_.cluster;
  const MonotonicTime until = clock_.MonotonicNow() + cluster.try_again_pause;
  if (has_ended_ || until >= journey->deadline ||
      static_cast<int64_t>(paused_.size()) >= cluster.try_again_max) {
    return OnLeg(journey, leg, std::nullopt);
  }
  paused_.push_back({until, journey, std::move(leg)});
}

void Servers::GoOn(MonotonicTime now) {
  while (!paused_.empty() && paused_.front().until <= now) {
    const Paused paused = std::move(paused_.front());
    paused_.pop_front();
    SendLeg(paused.journey, paused.leg);
    Finish(paused.journey);
  }
  Flush();
}

void Servers::Finish(const JourneyPtr& journey) {
  if (!journey->request.is_over() || !journey->done) return;
  absl::AnyInvocable<void(Answer)> done = std::exchange(journey->done, nullptr);
  done(journey->request.TakeAnswer());
}

// ---- The map -----------------------------------------------------------------------------------

void Servers::Watch() {
  if (has_ended_ || kind_ != Kind::kCluster) return;
  if (!map_ || misses_owner_) refresh_.Want();
  const MonotonicTime now = clock_.MonotonicNow();
  if (now >= refresh_.due_at()) BeginRefresh(now);
  if (!paused_.empty()) Arm(paused_.front().until);
  // Without a node to ask it is due and not begun: the next that becomes usable brings us back.
  if (refresh_.due_at() > now) Arm(refresh_.due_at());
}

void Servers::BeginRefresh(MonotonicTime now) {
  const std::shared_ptr<Link> link = NextToAsk();
  if (link == nullptr) return HoldSeeds();
  refresh_.OnBegin(now);
  asked_last_ = link->node();
  Request request = {MapQuestion(), now + options_.cluster.refresh_budget,
                     [this, from = link->node()](const Answer& answer) { OnMap(from, answer); }};
  const bool is_refused = link->Take(std::move(request)).has_value();
  if (is_refused) return OnMap(asked_last_, std::nullopt);
  link->Flush();
}

// In turn: one that is cut off and does not know better is not asked for ever.
std::shared_ptr<Link> Servers::NextToAsk() {
  std::shared_ptr<Link> first;
  for (const auto& [node, held] : links_) {
    if (!held.link->usable()) continue;
    if (node > asked_last_) return held.link;
    if (first == nullptr) first = held.link;
  }
  return first;
}

void Servers::OnMap(const Node& from, const Answer& answer) {
  refresh_.OnEnd();
  if (has_ended_) return;
  if (!answer) {
    counters_.maps_lost.Add();
    refresh_.Want();
  } else if (absl::StatusOr<SlotMap> map = SlotMap::Read(answer->front(), from); map.ok()) {
    counters_.maps_taken.Add();
    Install(*std::move(map));
  } else {
    counters_.maps_refused.Add();
    refresh_.Want();
    Say(absl::StrCat(ToText(from), ": ", map.status().message()));
  }
  TellLoss(std::exchange(moved_, {}));
  Watch();
}

void Servers::Install(SlotMap map) {
  if (map_) moved_ |= SlotMap::Difference(*map_, map);
  const bool is_news = !map_ || map_->Owners() != map.Owners();
  map_ = std::move(map);
  const std::vector<Node> owners = map_->Owners();
  for (auto& [node, held] : links_)
    held.is_owner = std::find(owners.begin(), owners.end(), node) != owners.end();
  std::vector<std::shared_ptr<Link>> gone;
  for (auto it = links_.begin(); it != links_.end();) {
    Held& held = it->second;
    const bool is_kept = held.is_owner || std::exchange(held.was_sent_on_to, false);
    if (!is_kept) gone.push_back(held.link);
    it = is_kept ? std::next(it) : links_.erase(it);
  }
  for (const Node& owner : owners) {
    if (Held* held = Hold(owner)) {
      held->is_owner = true;
      starts_.Raise(map_->SlotsOf(owner), held->started);
      ProbeOwnSlots(owner, *held);
    }
  }
  counters_.nodes.Set(static_cast<int64_t>(owners.size()));
  UpdateUsable();
  if (is_news) Say(absl::StrCat("a cluster: ", owners.size(), " nodes own its slots"));
  for (const std::shared_ptr<Link>& link : gone) link->End();
}

// A node is asked for a write of its own, or it would send the question on.
void Servers::ProbeOwnSlots(const Node& node, Held& held) const {
  const SlotSet slots = map_->SlotsOf(node);
  if (!held.probed_key.empty() && slots[static_cast<size_t>(SlotOf(held.probed_key))]) return;
  held.probed_key = ProbedKeyIn(slots);
  held.link->set_probed_key(held.probed_key);
}

void Servers::TellLoss(const SlotSet& slots) const {
  if (slots.any() && listener_.on_loss) listener_.on_loss(slots);
}

void Servers::Arm(MonotonicTime at) {
  if (armed_at_ <= at) return;
  armed_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](error_code error) {
    if (error) return;
    armed_at_ = MonotonicTime::max();
    GoOn(clock_.MonotonicNow());
    Watch();
  });
}

}  // namespace counter::redis
