// The address of a PostgreSQL as people write it, and what of it is ours.
//
//   postgresql://user:password@host:5432/database?sslmode=require     as libpq takes it
//   postgresql+asyncpg://...                                          the card's form: "+asyncpg"
//   goes postgresql://...?pgbouncer=true                                   a transaction pooler in
//   between host=/run/postgresql dbname=counter pgbouncer=true                libpq's other form
//
// Everything else is handed to the driver unread; it says what it does not like. Pure; thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_DATABASE_URL_H_
#define COUNTER_STORAGE_POSTGRES_DATABASE_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace counter::postgres {

struct DatabaseUrl {
  std::string conninfo;  // For the driver. Holds the password: never print it.
  bool pooled = false;   // pgbouncer=true.
};

absl::StatusOr<DatabaseUrl> ParseDatabaseUrl(absl::string_view url);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_DATABASE_URL_H_
