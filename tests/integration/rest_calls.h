// How tests speak REST: bodies of requests, and what an answer says.
//
// Functions that look into an answer fail the case (REQUIRE) if it has not the form of REST: call
// them on the test's thread. The rest is for any thread.
#ifndef COUNTER_TESTS_INTEGRATION_REST_CALLS_H_
#define COUNTER_TESTS_INTEGRATION_REST_CALLS_H_

#include <boost/json.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/support/http_client.h"

namespace counter::testing {

std::string LikeBody(int64_t user, int64_t item, absl::string_view type = "post");

// One mutation of /v1/write_likes, and the body of a call with these.
boost::json::object MutationOf(int64_t user, int64_t item, const char* action);
std::string MutationsBody(const boost::json::array& mutations);

// Every byte as %41, for a query.
std::string Escaped(absl::string_view text);

// "1,2,3": the ids from 1 to `n`.
std::string IdList(int n);

// The reason of an error's ErrorInfo, after a look at all that every error has.
std::string ReasonOf(const HttpClient::Answer& answer);

// The fields that a 400 names, after a look at whether it is one.
using Fields = std::set<std::string>;
Fields FieldsOf(const HttpClient::Answer& answer);

// Fails the case unless every route of REST and every method by Connect refuses an item of `type`,
// naming the field.
void RequireRefusedEverywhere(HttpClient& client, const std::string& type);

}  // namespace counter::testing

#endif  // COUNTER_TESTS_INTEGRATION_REST_CALLS_H_
