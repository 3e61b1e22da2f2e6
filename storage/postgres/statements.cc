#include "storage/postgres/statements.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace counter::postgres {
namespace {

// In both statements of a unit the rows come in primary-key order, and `n` is that order.
//
// Every item of the unit passes through its counter's row: the row's lock is what makes the count
// of a repeat true. A repeat that waited for another transaction's like reads, by ON CONFLICT DO
// UPDATE or FOR UPDATE, the row's newest version; a plain read would use the statement's older
// snapshot.

const Statement kLike = {"counter_like",
                         R"sql(
WITH req AS MATERIALIZED (
  SELECT t, u, i, m, n FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[])
    WITH ORDINALITY AS x(t, u, i, m, n)),
ins AS (
  INSERT INTO user_likes (user_id, item_id, item_type)
  SELECT u, i, t FROM unnest($1::int2[], $2::int8[], $3::int8[]) AS x(t, u, i)
  ON CONFLICT DO NOTHING RETURNING user_id, item_id, item_type),
row AS MATERIALIZED (
  SELECT r.n, r.t, r.i, CASE WHEN ins.user_id IS NULL THEN 0 ELSE r.m END AS m,
    ins.user_id IS NOT NULL AS changed
  FROM req r LEFT JOIN ins
    ON ins.user_id = r.u AND ins.item_id = r.i AND ins.item_type = r.t),
agg AS (
  SELECT t, i, count(*) FILTER (WHERE changed) AS k, bit_xor(m) AS d
  FROM row GROUP BY t, i),
up AS (
  INSERT INTO counters AS c (item_type, item_id, count, version, digest)
  SELECT t, i, k, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, d
  FROM agg ORDER BY t, i
  ON CONFLICT (item_type, item_id) DO UPDATE SET
    count = c.count + excluded.count,
    digest = c.digest # excluded.digest,
    version = CASE WHEN excluded.count = 0 THEN c.version
              ELSE greatest(c.version + 1, excluded.version) END
  RETURNING item_type, item_id, count, version),
acknowledged AS (DELETE FROM cache_outbox WHERE id = ANY ($6::int8[])),
noted AS (
  INSERT INTO cache_outbox (lane, types, ids)
  SELECT $5::int2, array_agg(t), array_agg(i) FROM agg WHERE k > 0 HAVING count(*) > 0
  RETURNING id)
SELECT row.n, row.changed, up.count, up.version, (SELECT id FROM noted)
FROM row JOIN up ON up.item_type = row.t AND up.item_id = row.i
)sql",
                         {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array,
                          TypeId::kInt8Array, TypeId::kInt2, TypeId::kInt8Array}};

// DELETE and UPDATE lock rows in the order in which a plan happens to find them. So the rows are
// locked by ordered SELECTs first: likes in primary-key order, then counters in theirs.
const Statement kUnlike = {"counter_unlike",
                           R"sql(
WITH req AS MATERIALIZED (
  SELECT t, u, i, m, n FROM unnest($1::int2[], $2::int8[], $3::int8[], $4::int8[])
    WITH ORDINALITY AS x(t, u, i, m, n)),
held AS MATERIALIZED (
  SELECT r.n, r.t, r.u, r.i, r.m FROM req r
  JOIN user_likes l ON l.item_type = r.t AND l.user_id = r.u AND l.item_id = r.i
  ORDER BY r.n FOR UPDATE OF l),
gone AS (
  DELETE FROM user_likes l USING held h
  WHERE l.item_type = h.t AND l.user_id = h.u AND l.item_id = h.i
  RETURNING h.n, h.m),
row AS MATERIALIZED (
  SELECT r.n, r.t, r.i, coalesce(gone.m, 0) AS m, gone.n IS NOT NULL AS changed
  FROM req r LEFT JOIN gone ON gone.n = r.n),
agg AS (
  SELECT t, i, count(*) FILTER (WHERE changed) AS k, bit_xor(m) AS d
  FROM row GROUP BY t, i),
locked AS MATERIALIZED (
  SELECT c.item_type, c.item_id, c.count, c.version, a.k, a.d FROM agg a
  JOIN counters c ON c.item_type = a.t AND c.item_id = a.i
  ORDER BY c.item_type, c.item_id FOR UPDATE OF c),
down AS (
  UPDATE counters c SET
    count = c.count - l.k,
    digest = c.digest # l.d,
    version = greatest(c.version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)
  FROM locked l
  WHERE c.item_type = l.item_type AND c.item_id = l.item_id AND l.k > 0
  RETURNING c.item_type, c.item_id, c.count, c.version),
acknowledged AS (DELETE FROM cache_outbox WHERE id = ANY ($6::int8[])),
noted AS (
  INSERT INTO cache_outbox (lane, types, ids)
  SELECT $5::int2, array_agg(item_type), array_agg(item_id) FROM down HAVING count(*) > 0
  RETURNING id)
SELECT row.n, row.changed, coalesce(down.count, locked.count, 0),
  coalesce(down.version, locked.version, 0), (SELECT id FROM noted)
FROM row
LEFT JOIN locked ON locked.item_type = row.t AND locked.item_id = row.i
LEFT JOIN down ON down.item_type = row.t AND down.item_id = row.i
)sql",
                           {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array,
                            TypeId::kInt8Array, TypeId::kInt2, TypeId::kInt8Array}};

const Statement kCounts = {"counter_counts",
                           R"sql(
SELECT x.n, c.count, c.version
FROM unnest($1::int2[], $2::int8[]) WITH ORDINALITY AS x(t, i, n)
JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                           {TypeId::kInt2Array, TypeId::kInt8Array}};

const Statement kPairs = {"counter_pairs",
                          R"sql(
SELECT x.n, coalesce(c.version, 0)
FROM unnest($1::int2[], $2::int8[], $3::int8[]) WITH ORDINALITY AS x(t, u, i, n)
JOIN user_likes l ON l.item_type = x.t AND l.user_id = x.u AND l.item_id = x.i
LEFT JOIN counters c ON c.item_type = x.t AND c.item_id = x.i
)sql",
                          {TypeId::kInt2Array, TypeId::kInt8Array, TypeId::kInt8Array}};

// One row more than asked for says that there is a next page. Items come from both sides: counters
// without likes and likes without counters.
const Statement kAudit = {"counter_audit",
                          R"sql(
WITH item AS MATERIALIZED (
  SELECT item_type, item_id FROM counters WHERE (item_type, item_id) > ($1::int2, $2::int8)
  UNION
  SELECT item_type, item_id FROM user_likes WHERE (item_type, item_id) > ($1::int2, $2::int8)
  ORDER BY 1, 2 LIMIT $3::int4 + 1),
actual AS (
  SELECT l.item_type, l.item_id, count(*) AS count, bit_xor(counter_liker_mix(l.user_id)) AS digest
  FROM user_likes l JOIN (SELECT item_type, item_id FROM item ORDER BY 1, 2 LIMIT $3::int4) AS i
    ON l.item_type = i.item_type AND l.item_id = i.item_id
  GROUP BY 1, 2)
SELECT i.item_type, i.item_id, coalesce(c.count, 0), coalesce(c.digest, 0),
  coalesce(a.count, 0), coalesce(a.digest, 0)
FROM item i
LEFT JOIN counters c ON c.item_type = i.item_type AND c.item_id = i.item_id
LEFT JOIN actual a ON a.item_type = i.item_type AND a.item_id = i.item_id
ORDER BY 1, 2
)sql",
                          {TypeId::kInt2, TypeId::kInt8, TypeId::kInt4}};

// Rows are chosen by their age. That they are looked at in the order of their numbers spares a sort
// of the whole backlog for every page of it; nothing follows from a number.
const Statement kTakeStaleRows = {"counter_take_stale_rows",
                                  R"sql(
UPDATE cache_outbox SET at = clock_timestamp()
WHERE id = ANY (ARRAY(
  SELECT id FROM cache_outbox
  WHERE at <= clock_timestamp() - make_interval(secs => $1::int4 / 1000.0)
  ORDER BY id LIMIT $2::int4 FOR UPDATE SKIP LOCKED))
RETURNING id, types, ids
)sql",
                                  {TypeId::kInt4, TypeId::kInt4}};

// A lane may delete some of the same rows at this moment, and nobody says in which order: if both
// waited, they might wait for each other. A row that is locked is as good as deleted.
const Statement kDeleteRows = {"counter_delete_rows",
                               R"sql(
DELETE FROM cache_outbox WHERE id = ANY (ARRAY(
  SELECT id FROM cache_outbox WHERE id = ANY ($1::int8[]) FOR UPDATE SKIP LOCKED))
)sql",
                               {TypeId::kInt8Array}};

const Statement kProbe = {"counter_probe", "SELECT pg_is_in_recovery()", {}};

const Statement kSetForTransaction = {"counter_set_for_transaction",
                                      R"sql(
SELECT set_config('synchronous_commit', 'on', true),
  set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_seqscan', 'off', true),
  set_config('jit', 'off', true),
  set_config('statement_timeout', $1::int4::text, true),
  set_config('lock_timeout', $2::int4::text, true)
)sql",
                                      {TypeId::kInt4, TypeId::kInt4},
                                      false};

const Statement kAskSession = {"counter_ask_session",
                               R"sql(
SELECT current_setting('server_version_num')::int4, pg_is_in_recovery(),
  current_setting('transaction_read_only') = 'on', current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('synchronous_commit'),
  current_setting('synchronous_standby_names'),
  CASE WHEN pg_is_in_recovery() THEN ''
    ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
  current_setting('plan_cache_mode') = 'force_generic_plan', pg_backend_pid()
)sql",
                               {},
                               false};

const Statement kAskSchema = {"counter_ask_schema",
                              R"sql(
SELECT (SELECT coalesce(max(number), 0) FROM counter_migrations)::int8,
  (SELECT store_id FROM store_identity),
  (SELECT coalesce(array_agg(substring(p.relname FROM '^user_likes_([0-9]+)$')::int8), '{}')
   FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
   WHERE i.inhparent = 'user_likes'::regclass AND p.relname ~ '^user_likes_[0-9]+$')
)sql",
                              {},
                              false};

std::string Milliseconds(absl::Duration duration) {
  return EncodeInt4(static_cast<int32_t>(absl::ToInt64Milliseconds(duration)));
}

absl::Status Misshapen() {
  return MakeError(ErrorReason::kInternal,
                   "the store's answer has not the expected form; see the server's log");
}

// Reads the cells of a row from left to right and remembers whether all were as expected.
class RowReader {
 public:
  RowReader(const Table& table, int row) : table_(table), row_(row) {}

  int64_t Int() { return Take(DecodeInt(Next())).value_or(0); }
  bool Bool() { return Take(DecodeBool(Next())).value_or(false); }
  std::string Text() { return std::string(Next()); }
  std::optional<int64_t> IntOrNull() {
    if (column_ < table_.columns() && table_.IsNull(row_, column_)) {
      ++column_;
      return std::nullopt;
    }
    return Int();
  }
  std::vector<int64_t> Ints() {
    return Take(DecodeIntArray(Next())).value_or(std::vector<int64_t>());
  }
  // A place that the row names: 1 to `places`; returned from 0.
  int Place(int places) {
    const int64_t n = Int();
    if (n >= 1 && n <= places) return static_cast<int>(n) - 1;
    good_ = false;
    return 0;
  }
  bool good() const { return good_; }

 private:
  absl::string_view Next() {
    if (column_ < table_.columns() && !table_.IsNull(row_, column_))
      return table_.Cell(row_, column_++);
    good_ = false;
    return {};
  }
  template <class T>
  std::optional<T> Take(std::optional<T> value) {
    good_ = good_ && value.has_value();
    return value;
  }

  const Table& table_;
  const int row_;
  int column_ = 0;
  bool good_ = true;
};

}  // namespace

StatementCall ApplyUnit(const WriteUnit& unit, const LaneNote& note) {
  std::vector<int16_t> types;
  std::vector<int64_t> users;
  std::vector<int64_t> items;
  std::vector<int64_t> mixes;
  types.reserve(unit.rows.size());
  users.reserve(unit.rows.size());
  items.reserve(unit.rows.size());
  mixes.reserve(unit.rows.size());
  for (const UnitRow& row : unit.rows) {
    types.push_back(row.item.type.value);
    users.push_back(row.user.value);
    items.push_back(row.item.id);
    mixes.push_back(LikerMix(row.user));
  }
  return {unit.action == Action::kLike ? &kLike : &kUnlike,
          {EncodeInt2Array(types), EncodeInt8Array(users), EncodeInt8Array(items),
           EncodeInt8Array(mixes), EncodeInt2(note.lane), EncodeInt8Array(note.acknowledged)}};
}

absl::StatusOr<UnitApplied> DecodeUnit(const Table& table, int rows) {
  if (table.rows() != rows) return Misshapen();
  UnitApplied applied;
  applied.rows.resize(static_cast<size_t>(rows));
  std::vector<bool> seen(static_cast<size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    RowReader row(table, i);
    const auto place = static_cast<size_t>(row.Place(rows));
    Applied& outcome = applied.rows[place];
    outcome.changed = row.Bool();
    outcome.count = row.Int();
    outcome.version = row.Int();
    applied.outbox_id = row.IntOrNull();
    if (!row.good() || seen[place]) return Misshapen();
    seen[place] = true;
  }
  return applied;
}

StatementCall ReadCounts(const std::vector<Item>& items) {
  std::vector<int16_t> types;
  std::vector<int64_t> ids;
  for (const Item& item : items) {
    types.push_back(item.type.value);
    ids.push_back(item.id);
  }
  return {&kCounts, {EncodeInt2Array(types), EncodeInt8Array(ids)}};
}

absl::StatusOr<std::vector<ItemCount>> DecodeCounts(const Table& table, int items) {
  std::vector<ItemCount> counts(static_cast<size_t>(items));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    ItemCount& count = counts[static_cast<size_t>(row.Place(items))];
    count.count = row.Int();
    count.version = row.Int();
    if (!row.good()) return Misshapen();
  }
  return counts;
}

StatementCall ReadPairs(const std::vector<Pair>& pairs) {
  std::vector<int16_t> types;
  std::vector<int64_t> users;
  std::vector<int64_t> ids;
  for (const Pair& pair : pairs) {
    types.push_back(pair.item.type.value);
    users.push_back(pair.user.value);
    ids.push_back(pair.item.id);
  }
  return {&kPairs, {EncodeInt2Array(types), EncodeInt8Array(users), EncodeInt8Array(ids)}};
}

absl::StatusOr<std::vector<PairState>> DecodePairs(const Table& table, int pairs) {
  std::vector<PairState> states(static_cast<size_t>(pairs));
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    PairState& state = states[static_cast<size_t>(row.Place(pairs))];
    state.liked = true;
    state.item_version = row.Int();
    if (!row.good()) return Misshapen();
  }
  return states;
}

StatementCall AuditItems(const std::optional<Item>& after, int items_max) {
  const Item from = after.value_or(Item{});
  return {&kAudit, {EncodeInt2(from.type.value), EncodeInt8(from.id), EncodeInt4(items_max)}};
}

absl::StatusOr<AuditPage> DecodeAudit(const Table& table, int items_max) {
  AuditPage page;
  Item last;
  for (int i = 0; i < table.rows(); ++i) {
    if (i == items_max) {
      page.next = last;
      break;
    }
    RowReader row(table, i);
    AuditFinding item;
    item.item.type.value = static_cast<int16_t>(row.Int());
    item.item.id = row.Int();
    item.stored_count = row.Int();
    item.stored_digest = row.Int();
    item.actual_count = row.Int();
    item.actual_digest = row.Int();
    if (!row.good()) return Misshapen();
    last = item.item;
    ++page.items_checked;
    if (item.stored_count != item.actual_count || item.stored_digest != item.actual_digest)
      page.findings.push_back(item);
  }
  return page;
}

StatementCall TakeStaleRows(absl::Duration min_age, int rows_max) {
  return {&kTakeStaleRows, {Milliseconds(min_age), EncodeInt4(rows_max)}};
}

absl::StatusOr<std::vector<StaleRow>> DecodeStaleRows(const Table& table) {
  std::vector<StaleRow> rows;
  for (int i = 0; i < table.rows(); ++i) {
    RowReader row(table, i);
    StaleRow stale;
    stale.id = row.Int();
    const std::vector<int64_t> types = row.Ints();
    const std::vector<int64_t> ids = row.Ints();
    if (!row.good() || types.size() != ids.size()) return Misshapen();
    for (size_t item = 0; item < ids.size(); ++item)
      stale.items.push_back({{static_cast<int16_t>(types[item])}, ids[item]});
    rows.push_back(std::move(stale));
  }
  return rows;
}

StatementCall DeleteRows(const std::vector<int64_t>& ids) {
  return {&kDeleteRows, {EncodeInt8Array(ids)}};
}

StatementCall Probe() { return {&kProbe, {}}; }

absl::StatusOr<bool> DecodeProbe(const Table& table) {
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  const bool in_recovery = row.Bool();
  if (!row.good()) return Misshapen();
  return in_recovery;
}

StatementCall SetForTransaction(absl::Duration statement_timeout, absl::Duration lock_timeout) {
  return {&kSetForTransaction, {Milliseconds(statement_timeout), Milliseconds(lock_timeout)}};
}

StatementCall AskSession() { return {&kAskSession, {}}; }
StatementCall AskSchema() { return {&kAskSchema, {}}; }

absl::Status DecodeSession(const Table& table, int64_t backend_pid, SessionFacts& facts) {
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  facts.server_version = row.Int();
  facts.in_recovery = row.Bool();
  facts.read_only = row.Bool();
  facts.fsync = row.Text();
  facts.full_page_writes = row.Text();
  facts.synchronous_commit = row.Text();
  facts.synchronous_standby_names = row.Text();
  facts.timeline = row.Text();
  facts.settings_kept = row.Bool();
  facts.same_backend = row.Int() == backend_pid;
  return row.good() ? absl::OkStatus() : Misshapen();
}

absl::Status DecodeSchema(const Table& table, SessionFacts& facts) {
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  facts.migrated = true;
  facts.migration = row.Int();
  facts.store_id = row.Text();
  facts.item_types = row.Ints();
  return row.good() ? absl::OkStatus() : Misshapen();
}

const std::vector<const Statement*>& PreparedStatements() {
  static const std::vector<const Statement*> statements = {
      &kLike, &kUnlike, &kCounts, &kPairs, &kAudit, &kTakeStaleRows, &kDeleteRows, &kProbe};
  return statements;
}

}  // namespace counter::postgres
