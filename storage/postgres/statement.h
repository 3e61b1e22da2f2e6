// Statement: SQL that the store runs; StatementCall: the same with its parameters.
//
// Use it between those who know what a statement means (unit_statements.h, read_statements.h,
// outbox_statements.h, session_statements.h) and the connection, which sends it. All SQL of the
// store is there and in migrations/.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_STATEMENT_H_
#define COUNTER_STORAGE_POSTGRES_STATEMENT_H_

#include <string>
#include <vector>

#include "storage/postgres/binary.h"

namespace counter::postgres {

struct Statement {
  const char* name;  // Of the prepared statement.
  const char* sql;
  std::vector<TypeId> parameters;
  bool prepared = true;  // On connections that have a session of their own.
};

// A statement with its parameters, in the binary format.
struct StatementCall {
  const Statement* statement = nullptr;
  std::vector<std::string> parameters;
};

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_STATEMENT_H_
