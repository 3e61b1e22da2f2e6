// ReadRouter: which server of a PostgreSQL store answers a read: the primary, or a replica.
//
// Use one for a store. What it decides, and what is to be called when, is read_routing.h; this
// names the connections that it decides about.
//
// Threads: everything on the loop's thread. Ownership: borrows the reader; owns the replicas; must
// outlive the run of the loop.
#ifndef COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_
#define COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_

#include "storage/postgres/read_routing.h"
#include "storage/postgres/reader.h"
#include "storage/postgres/replica.h"

namespace counter::postgres {

using ReadRouter = ReadRouting<Reader, Replica>;

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_READ_ROUTER_H_
