// All statements that a connection with a session of its own prepares.
//
// Thread-safe (values and constants).
#ifndef COUNTER_STORAGE_POSTGRES_PREPARED_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_PREPARED_STATEMENTS_H_

#include <vector>

#include "storage/postgres/statement.h"

namespace counter::postgres {

const std::vector<const Statement*>& PreparedStatements();

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_PREPARED_STATEMENTS_H_
