// Many callers and one item, through any number of servers over one store: the bodies of K13 and
// K28 of the fault list, for whatever store is behind.
//
// Each wants an item that nobody has liked, fails the case (CHECK, REQUIRE) on what may not be, and
// leaves it to the caller to audit the store. Call them on the test's thread.
#ifndef COUNTER_TESTS_INTEGRATION_HOT_ITEM_CASES_H_
#define COUNTER_TESTS_INTEGRATION_HOT_ITEM_CASES_H_

#include <vector>

#include "clients/cpp/client.h"
#include "tests/integration/fixture.h"
#include "tests/support/counter_server.h"

namespace counter::testing {

// Not empty; all over one store.
using Servers = std::vector<const CounterServer*>;

// 500 users like the item at the same moment: each is counted once.
void LikeByManyUsersAtOnce(const Servers& servers, const client::Item& item);

// 500 equal likes at the same moment: one made it, and all answer a count that includes it.
void LikeEquallyAtOnce(const Servers& servers, const client::Item& item);

// 64 unlikes of one like at the same moment, again and again: one made it, and no reading by any
// API is below zero or above one meanwhile.
void UnlikeEquallyAtOnce(const Servers& servers, const client::Item& item);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_HOT_ITEM_CASES_H_
