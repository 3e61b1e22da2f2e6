#include "tests/simulation/tier/tier_server.h"

#include <memory>

namespace counter::simulation::tier {
namespace {

// As store_loop.h.
constexpr absl::Duration kOpenWait = absl::Seconds(5);
constexpr absl::Duration kUnavailableAfter = absl::Seconds(1);
constexpr absl::Duration kLeaveSilentHostAfter = absl::Seconds(2);

}  // namespace

Server::Server(World& world, int which, int which_life)
    : number(which),
      life(which_life),
      started_at(world.now()),
      primary(world, reader),
      reads(
          primary, [] {}, world.clock),
      world_(world) {
  writer.since = reader.since = world.now();
  writer.silent_from = reader.silent_from = absl::InfiniteDuration();
  if (!world.faults.replicas) return;
  for (int node = 0; node < kNodes; ++node)
    reads.Add(std::make_unique<StandbyReads>(world, node, meter, history));
}

// As PostgresStore::Open: a server begins when it has met the store, or has waited for long enough.
void Server::BeginToServe() {
  if (world_.now() - started_at >= kOpenWait) serves = true;
  if (noted || (!world_.decisions.waits_for_note && reader.ready())) serves = true;
}

// ---- Links -------------------------------------------------------------------------------------

void Server::Leave(PrimaryLink& link) {
  if (!link.ready()) return;
  link = {};
  link.since = world_.now();
  link.silent_from = absl::InfiniteDuration();
  last_broken_at = world_.now();
  if (&link == &reader) primary.Broken();
}

void Server::Break(int node) {
  if (writer.node == node) Leave(writer);
  if (reader.node == node) Leave(reader);
  for (const auto& replica : reads.replicas())
    if (replica->node() == node) replica->Broken();
}

bool Server::TakesWrites(int node) const {
  const bool is_read_only = !world_.faults.fences && node != world_.database.primary();
  return !is_read_only && world_.database.takes_writes(node);
}

void Server::Connect(PrimaryLink& link) {
  if (link.ready() || !world_.Chance(70)) return;
  // The first host that takes writes, from any one on.
  const auto first = static_cast<int>(world_.Random(kNodes));
  int node = kNone;
  for (int i = 0; i < kNodes && node == kNone; ++i)
    if (TakesWrites((first + i) % kNodes)) node = (first + i) % kNodes;
  if (node == kNone) return;
  postgres::SessionFacts facts = world_.database.Facts(node);
  const bool others = writer.ready() || reader.ready();
  if (world_.decisions.leaves_old_primary && history.Veto(facts, others).has_value()) return;
  link.node = node;
  link.facts = std::move(facts);
  link.since = world_.now();
  FollowPrimary();
  if (&link == &reader) primary.Pump();
}

void Server::FollowPrimary() {
  const int64_t before = history.timeline_number();
  if (writer.ready()) history.Took(writer.facts);
  if (reader.ready()) history.Took(reader.facts);
  if (history.timeline_number() != before) {
    meter.Forget();
    noted = false;
    done_rows.clear();
  }
  if (!world_.decisions.leaves_old_primary) return;
  if (writer.ready() && history.IsOutdated(writer.facts)) Leave(writer);
  if (reader.ready() && history.IsOutdated(reader.facts)) Leave(reader);
}

// False: it does not answer.
bool Server::ProbePrimary() {
  PrimaryLink& link = reader;
  if (!world_.database.reachable(link.node)) {
    link.silent_from = std::min(link.silent_from, world_.now());
    last_broken_at = world_.now();
    if (world_.now() - link.silent_from >= kLeaveSilentHostAfter) {
      Leave(reader);
      Leave(writer);
    }
    return false;
  }
  link.silent_from = absl::InfiniteDuration();
  if (!TakesWrites(link.node) && world_.decisions.leaves_old_primary) {
    Leave(writer);
    Leave(reader);
    return false;
  }
  meter.PrimaryAt(world_.database.flushed(link.node), world_.clock.MonotonicNow());
  return true;
}

void Server::NoteTimeline() {
  if (noted || history.IsOutdated(reader.facts) || !world_.Chance(60)) return;
  const Record& note = world_.database.Note(reader.node, world_.now());
  if (note.timeline != history.timeline_number()) return;
  noted = true;
  noted_at = world_.now();
  if (note.timeline == 1) return;
  failover.emplace();
  failover->seen = Wall(note.seen);
  if (note.kept_until.has_value()) failover->kept_until = Wall(*note.kept_until);
}

void Server::Probe() {
  Connect(reader);
  Connect(writer);
  if (reader.ready() && ProbePrimary()) NoteTimeline();
  for (const auto& replica : reads.replicas()) replica->Probe();
  const bool is_silent = world_.now() - reader.silent_from >= kUnavailableAfter;
  if (is_silent || (!reader.ready() && world_.now() - reader.since >= kUnavailableAfter))
    primary.FailAll();
  primary.DropUnwanted();
  BeginToServe();
}

}  // namespace counter::simulation::tier
