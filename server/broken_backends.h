// BreakOnPurpose: a server that breaks its word, for the test that shows that tests would notice.
//
// It is a part of //server:counterd_broken alone, a program that only tests can build; counterd has
// none of it. The environment variable COUNTER_BREAK says what is wrong:
//   acknowledge-before-commit  some likes and unlikes are answered from a guess, and written later
//   cache-by-delta             a cached count is moved instead of being replaced
//
// Threads and ownership: as Backends.
#ifndef COUNTER_SERVER_BROKEN_BACKENDS_H_
#define COUNTER_SERVER_BROKEN_BACKENDS_H_

#include <memory>

#include "server/backends.h"

namespace counter {

// Ends the process if COUNTER_BREAK names nothing that there is.
std::unique_ptr<Backends> BreakOnPurpose(std::unique_ptr<Backends> sound);

}  // namespace counter

#endif  // COUNTER_SERVER_BROKEN_BACKENDS_H_
