#include "storage/postgres/prepared_statements.h"

#include "storage/postgres/outbox_statements.h"
#include "storage/postgres/read_statements.h"
#include "storage/postgres/session_statements.h"
#include "storage/postgres/unit_statements.h"

namespace counter::postgres {

const std::vector<const Statement*>& PreparedStatements() {
  static const std::vector<const Statement*> all = [] {
    std::vector<const Statement*> statements;
    for (const auto& some :
         {UnitStatements(), ReadStatements(), OutboxStatements(), SessionStatements()})
      statements.insert(statements.end(), some.begin(), some.end());
    return statements;
  }();
  return all;
}

}  // namespace counter::postgres
