#include "storage/postgres/session_statements.h"

#include <string>

#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

const Statement kProbe = {"counter_probe",
                          R"sql(
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off',
  CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_flush_lsn() - '0/0')::int8 END,
  current_setting('synchronous_standby_names') <> ''
)sql",
                          {}};

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
  current_setting('plan_cache_mode') = 'force_generic_plan', pg_backend_pid(),
  (SELECT system_identifier FROM pg_control_system())::text,
  (SELECT timeline_id FROM pg_control_checkpoint())::int8
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

}  // namespace

StatementCall Probe() { return {&kProbe, {}}; }

absl::StatusOr<ProbeFacts> DecodeProbe(const Table& table) {
  if (table.rows() != 1) return Misshapen();
  RowReader row(table, 0);
  ProbeFacts facts;
  facts.writable = row.Bool();
  facts.flushed = row.Int();
  facts.standby_named = row.Bool();
  if (!row.good()) return Misshapen();
  return facts;
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
  facts.system_id = row.Text();
  facts.checkpoint_timeline = row.Int();
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

std::vector<const Statement*> SessionStatements() { return {&kProbe}; }

}  // namespace counter::postgres
