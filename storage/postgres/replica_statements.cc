#include "storage/postgres/replica_statements.h"

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

const Statement kPosition = {"counter_position",
                             R"sql(
SELECT pg_is_in_recovery(), coalesce((pg_last_wal_replay_lsn() - '0/0')::int8, 0),
  (SELECT coalesce(max(timeline), 0) FROM store_timelines), (SELECT store_id FROM store_identity)
)sql",
                             {}};

const Statement kPairsWithVersions = {"counter_pairs_with_versions",
                                      R"sql(
SELECT x.n, l.user_id IS NOT NULL, coalesce(c.version, 0)
FROM unnest($1::int2[], $2::int8[], $3::int8[]) WITH ORDINALITY AS x(t, u, i, n)
LEFT JOIN user_likes l ON l.item_type = x.t AND l.user_id = x.u AND l.item_id = x.i
LEFT JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                                      {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array}};

// pg_last_xact_replay_timestamp() outlives the promotion, but not the first restart after it. The
// commit waits for no standby: the connection's reads would wait behind it.
const Statement kNoteTimeline = {"counter_note_timeline",
                                 R"sql(
WITH noted AS (
  INSERT INTO store_timelines (timeline, kept_until)
  SELECT $1::int8, pg_last_xact_replay_timestamp()
  WHERE NOT EXISTS (SELECT FROM store_timelines WHERE timeline = $1::int8)
    AND set_config('synchronous_commit', 'local', true) = 'local'
  ON CONFLICT DO NOTHING RETURNING seen, kept_until)
SELECT (extract(epoch FROM t.seen) * 1000000)::int8,
  EXISTS (SELECT FROM store_timelines WHERE timeline < $1::int8),
  (extract(epoch FROM t.kept_until) * 1000000)::int8
FROM (SELECT seen, kept_until FROM noted
  UNION ALL SELECT seen, kept_until FROM store_timelines WHERE timeline = $1::int8) AS t
)sql",
                                 {TypeId::kInt8},
                                 false};

}  // namespace

StatementCall AskPosition() { return {&kPosition, {}}; }

absl::StatusOr<ReplicaPosition> DecodePosition(const Table& table) {
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  ReplicaPosition position;
  position.in_recovery = row.Bool();
  position.replayed = row.Int();
  position.timeline = row.Int();
  position.store_id = row.Text();
  if (!row.good()) return Misshapen();
  return position;
}

StatementCall ReadPairsWithVersions(const std::vector<Pair>& pairs) {
  StatementCall call = ReadPairs(pairs);
  call.statement = &kPairsWithVersions;
  return call;
}

absl::StatusOr<std::vector<PairState>> DecodePairsWithVersions(const Table& table, int pairs) {
  if (table.rows() != pairs) return Misshapen();
  std::vector<PairState> states(static_cast<size_t>(pairs));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    PairState& state = states[static_cast<size_t>(row.Place(pairs))];
    state.liked = row.Bool();
    state.item_version = row.Int();
    if (!row.good()) return Misshapen();
  }
  return states;
}

StatementCall NoteTimeline(int64_t timeline) { return {&kNoteTimeline, {EncodeInt8(timeline)}}; }

absl::StatusOr<std::optional<NotedTimeline>> DecodeNotedTimeline(const Table& table) {
  if (table.rows() == 0) return std::nullopt;
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  NotedTimeline noted;
  noted.seen = absl::FromUnixMicros(row.Int());
  noted.followed = row.Bool();
  const std::optional<int64_t> kept_until = row.IntOrNull();
  if (!row.good()) return Misshapen();
  if (kept_until.has_value()) noted.kept_until = absl::FromUnixMicros(*kept_until);
  return noted;
}

std::vector<const Statement*> ReplicaStatements() {
  std::vector<const Statement*> statements = {&kPosition, &kPairsWithVersions};
  for (const Statement* statement : ReadStatements()) statements.push_back(statement);
  return statements;
}

}  // namespace counter::postgres
