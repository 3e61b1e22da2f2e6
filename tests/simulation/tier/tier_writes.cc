// What writes do: commit, wait to be seen, tell the cache, answer; and what becomes of words to the
// cache.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/tier/tier.h"

namespace counter::simulation::tier {

namespace {

constexpr int kWritesMax = 4;  // At once.
constexpr absl::Duration kCacheBudget = absl::Milliseconds(20);

}  // namespace

void Tier::BeginWrite() {
  Server& server = *servers_[At(Pick(kServers))];
  if (!server.serves || open_.size() >= kWritesMax) return;
  Write write;
  write.life = server.life;
  write.caller = Pick(kCallers);
  write.item = PickItem();
  write.began_at = now();
  open_.push_back(static_cast<int>(writes_.size()));
  writes_.push_back(write);
}

void Tier::GoOn(int index) {
  Write& write = writes_[At(index)];
  Server& server = *OfLife(write.life);
  switch (write.stage) {
    case Write::Stage::kBegun:
      Send(write, server);
      break;
    case Write::Stage::kSent:
      Tell(write, index, server);
      break;
    case Write::Stage::kTelling:
      // Goes on when its word is acknowledged or the budget has passed.
      write.given_up = write.given_up || (world_.faults.losses && Chance(30));
      if (write.told || write.given_up) Answer(write);
      break;
    case Write::Stage::kEnded:
      break;
  }
  if (write.stage == Write::Stage::kEnded) std::erase(open_, index);
}

void Tier::Send(Write& write, Server& server) {
  Database& database = world_.database;
  const int node = server.writer.node;
  if (node == kNone || !database.takes_writes(node)) return;
  // 25006: it is no longer the primary. The write is made again on the next connection.
  if (!world_.faults.fences && node != database.primary()) return server.Leave(server.writer);
  if (database.IsLocked(node, write.item)) return;
  write.node = node;
  write.record = database.Write(node, write.item, Chance(70) ? 1 : -1, now());
  write.stage = Write::Stage::kSent;
  write.since = now();
  for (const int record : database.DeleteRows(node, server.done_rows)) judge_.DeletesRow(record);
  server.done_rows.clear();
  world_.Note([&] {
    const Record& record = database.record(write.record);
    return absl::StrCat("server ", server.number, " writes ", write.item, " at node ", node,
                        ": record ", write.record, ", ", record.count, " at ", record.version,
                        ", row ", record.row_id);
  });
}

// As soon as the commit is over: its row is known, and the cache is told.
void Tier::Tell(Write& write, int index, Server& server) {
  Database& database = world_.database;
  // The connection was left: applied zero or one time.
  const bool is_left = server.writer.node != write.node || server.writer.since > write.since;
  if (is_left) write.stage = Write::Stage::kEnded;
  if (is_left || !database.reachable(write.node)) return;
  if (write.node == database.primary())
    database.LetSee(write.record, world_.decisions.waits_for_standby, now());
  else
    database.record(write.record).visible_at = now();  // An old primary knows no better.
  const Record& record = database.record(write.record);
  if (record.visible_at == absl::InfiniteDuration()) return;
  server.match.Committed({record.row_id, 0, server.history.timeline_number()},
                         {{ItemOf(write.item), record.count, record.version}},
                         world_.clock.MonotonicNow());
  write.stage = Write::Stage::kTelling;
  write.since = now();
  Message message;
  message.write = index;
  message.put.entry = {ItemOf(write.item), record.count, record.version, Wall(write.began_at)};
  SendPut(server, std::move(message));
}

void Tier::Answer(Write& write) {
  Server& server = *OfLife(write.life);
  if (write.told)
    judge_.Told(write.record);
  else
    server.owed[At(write.item)] = true;
  judge_.Acknowledged(write.record, write.node, write.began_at);
  tokens_[At(write.caller)][At(write.item)] = {write.record, server.history.timeline_number()};
  write.stage = Write::Stage::kEnded;
}

// A cache call has a budget, and a call a deadline.
void Tier::EndOverdue() {
  for (size_t i = open_.size(); i-- > 0;) {
    Write& write = writes_[At(open_[i])];
    const bool is_telling = write.stage == Write::Stage::kTelling;
    if (is_telling && now() - write.since >= kCacheBudget) {
      write.given_up = true;
      Answer(write);
    }
    if (!is_telling && now() - write.began_at >= kDeadline) write.stage = Write::Stage::kEnded;
    if (write.stage == Write::Stage::kEnded)
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// ---- Words to the cache ------------------------------------------------------------------------

// As NearCountCache::Put: the own memory first.
void Tier::SendPut(Server& server, Message message) {
  message.life = server.life;
  if (has_near_) {
    const auto item = At(IndexOf(message.put.entry.item));
    if (server.near[item].Take(message.put.entry, world_.clock.MonotonicNow(), NearLife())) {
      server.near_origin[item] = message.origin;
      server.near_origin[item].until = now() + kNearStale;
    }
  }
  messages_.push_back(std::move(message));
}

void Tier::Deliver(size_t index, bool reply_lost) {
  const Message message = std::move(messages_[index]);
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  const int item = IndexOf(message.put.entry.item);
  Standing& standing = redis_[At(item)];
  if (standing.ends_at <= now()) standing = {};
  const CountCell before = standing.cell;
  const CountPutStep step = StepPut(before, message.put);
  world_.Note([&] {
    return absl::StrCat("put of ", item, " version ", message.put.entry.version, " token ",
                        message.put.token, message.origin.is_of_replica ? " of a replica" : "",
                        ": effect ", static_cast<int>(step.effect));
  });
  standing.cell = step.cell;
  if (step.effect == CountPutStep::Effect::kStored ||
      step.effect == CountPutStep::Effect::kRefreshed) {
    const absl::Duration life = std::min(kTtl, message.put.life_max);
    const absl::Duration until =
        now() + (world_.decisions.short_fills_keep_their_end
                     ? LifeAfterPut(before, step.effect, standing.ends_at - now(), life)
                     : life);
    const bool keeps_its_end = before.kind == CountCell::Kind::kValue && until == standing.ends_at;
    standing.ends_at = until;
    judge_.Stands(item, standing.cell.version, until);
    if (keeps_its_end) standing.origin.is_of_replica |= message.origin.is_of_replica;
    if (!keeps_its_end) {
      standing.origin = message.origin;
      standing.origin.until = now() + kReplicaFillLife;
    }
  }
  if (!reply_lost) OnTaken(message);
}

// As CacheUpkeep::Put and Sweep.
void Tier::OnTaken(const Message& message) {
  const CountEntry& entry = message.put.entry;
  if (!message.rows.empty()) judge_.Taken(IndexOf(entry.item), entry.version);
  for (const int record : message.rows) world_.database.record(record).has_row = false;
  Server* server = OfLife(message.life);
  if (server == nullptr) return;
  if (message.kind == Message::Kind::kMend) server->owed[At(IndexOf(entry.item))] = false;
  if (message.write != kNone) {
    Write& write = writes_[At(message.write)];
    // Nobody hears of it who has given up.
    if (write.stage != Write::Stage::kTelling || write.given_up) return;
    write.told = true;
  }
  judge_.Taken(IndexOf(entry.item), entry.version);
  std::vector<OutboxRow> done;
  server->match.Acknowledged(entry.item, entry.version, done);
  for (const OutboxRow& row : done) {
    const bool is_of_now = row.history == server->history.timeline_number();
    if (is_of_now || !world_.decisions.rows_have_history) server->done_rows.push_back(row.id);
  }
}

void Tier::Lose(size_t index) {
  const Message message = std::move(messages_[index]);
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
  if (message.write != kNone) writes_[At(message.write)].given_up = true;
  // Who took the row has it to himself for its age; then another tick tries again.
  if (message.kind == Message::Kind::kMend)
    judge_.Excuse(IndexOf(message.put.entry.item), now() + kOutboxAge + 2 * kTick);
}

void Tier::PutFromStore(Server& server, int item, std::vector<int> rows) {
  const int number = world_.database.Snapshot(server.reader.node, item, now());
  Message message;
  message.kind = Message::Kind::kMend;
  message.rows = std::move(rows);
  message.put.entry = {ItemOf(item), 0, 0, world_.clock.WallNow()};
  if (number != kNone) {
    message.put.entry.count = world_.database.record(number).count;
    message.put.entry.version = world_.database.record(number).version;
  }
  SendPut(server, std::move(message));
}

// What every server does each second: it makes good what it owes, and what nobody acknowledged.
// The words arrive at once or are lost.
void Tier::Sweep() {
  Database& database = world_.database;
  const int first = Pick(kServers);
  bool has_swept = false;
  for (int i = 0; i < kServers; ++i) {
    Server& server = *servers_[At((first + i) % kServers)];
    const int node = server.reader.node;
    if (node == kNone || node != database.primary() || !database.reachable(node)) continue;
    for (int item = 0; item < kItems; ++item) {
      std::vector<int> rows;
      for (size_t r = 0; r < database.records().size() && !has_swept; ++r) {
        Record& record = database.record(static_cast<int>(r));
        if (record.item != item || !record.has_row || !record.is_kept()) continue;
        if (record.visible_at > now() || record.row_at > now() - kOutboxAge) continue;
        record.row_at = now();
        rows.push_back(static_cast<int>(r));
      }
      if (!world_.decisions.sweeps_outbox) rows.clear();
      if (rows.empty() && !server.owed[At(item)]) continue;
      PutFromStore(server, item, std::move(rows));
      if (world_.faults.losses && Chance(10))
        Lose(messages_.size() - 1);
      else
        Deliver(messages_.size() - 1, false);
    }
    has_swept = true;
  }
  // Nobody reaches the store: what is to be made good waits.
  if (!has_swept) judge_.ExcuseAll(now() + kOutboxAge + 2 * kTick);
}

}  // namespace counter::simulation::tier
