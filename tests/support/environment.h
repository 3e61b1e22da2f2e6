// What a BUILD file tells a test in its environment: where a program or a file is.
//
// Thread-safe.
#ifndef COUNTER_TESTS_SUPPORT_ENVIRONMENT_H_
#define COUNTER_TESTS_SUPPORT_ENVIRONMENT_H_

#include <string>

namespace counter::testing {

// The value of the variable. Ends the process if there is none: the BUILD file forgot it.
std::string FromEnvironment(const char* variable);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_ENVIRONMENT_H_
