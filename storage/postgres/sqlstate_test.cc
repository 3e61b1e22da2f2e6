#include "storage/postgres/sqlstate.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"

namespace counter::postgres {
namespace {

ServerError Error(const std::string& sqlstate, bool fatal = false) {
  return {sqlstate, fatal, "duplicate key value violates unique constraint \"user_likes_1_pkey\""};
}

TEST_CASE("each known code has the class that its handling needs") {
  const std::map<std::string, ErrorClass> expected = {{"40P01", ErrorClass::kTransient},
                                                      {"40001", ErrorClass::kTransient},
                                                      {"55P03", ErrorClass::kTimeout},
                                                      {"57014", ErrorClass::kTimeout},
                                                      {"57P01", ErrorClass::kConnectionUseless},
                                                      {"57P03", ErrorClass::kConnectionUseless},
                                                      {"08006", ErrorClass::kConnectionUseless},
                                                      {"08P01", ErrorClass::kConnectionUseless},
                                                      {"25006", ErrorClass::kConnectionUseless},
                                                      {"53300", ErrorClass::kConnectionUseless},
                                                      {"26000", ErrorClass::kConnectionUseless},
                                                      {"", ErrorClass::kConnectionUseless},
                                                      {"23514", ErrorClass::kRejected},
                                                      {"22003", ErrorClass::kRejected},
                                                      {"21000", ErrorClass::kRejected},
                                                      {"P0001", ErrorClass::kRejected},
                                                      {"53100", ErrorClass::kOutOfResources},
                                                      {"53200", ErrorClass::kOutOfResources},
                                                      {"58030", ErrorClass::kOutOfResources},
                                                      {"XX001", ErrorClass::kOutOfResources},
                                                      {"42P01", ErrorClass::kMisfit},
                                                      {"42501", ErrorClass::kMisfit},
                                                      {"99999", ErrorClass::kMisfit}};
  for (const auto& [sqlstate, error_class] : expected) {
    INFO(sqlstate);
    CHECK(Classify(Error(sqlstate)) == error_class);
  }
}

TEST_CASE("a fatal error makes the connection useless, whatever its code") {
  CHECK(Classify(Error("53100", true)) == ErrorClass::kConnectionUseless);
}

TEST_CASE("what a caller is told can be tried again unless the fault is in the data or in us") {
  for (const char* sqlstate : {"40P01", "57014", "57P01", "53100", ""})
    CHECK(ReasonOf(ToStatus(Error(sqlstate))) == ErrorReason::kStoreUnavailable);
  for (const char* sqlstate : {"23514", "42P01"})
    CHECK(ReasonOf(ToStatus(Error(sqlstate))) == ErrorReason::kInternal);
}

TEST_CASE("no text of the server reaches a caller, and no outcome is claimed") {
  for (const char* sqlstate : {"40P01", "57014", "57P01", "53100", "", "23514", "42P01"}) {
    const absl::Status status = ToStatus(Error(sqlstate));
    CHECK(status.message().find("user_likes") == absl::string_view::npos);
    CHECK_FALSE(IsNotApplied(status));
  }
}

TEST_CASE("a wrong password lasts, a server that is starting or full does not") {
  CHECK(IsLastingRefusal(Error("28P01", true)));
  CHECK(IsLastingRefusal(Error("3D000", true)));
  CHECK_FALSE(IsLastingRefusal(Error("57P03", true)));
  CHECK_FALSE(IsLastingRefusal(Error("53300", true)));
  CHECK_FALSE(IsLastingRefusal(Error("")));
}

TEST_CASE("the code of an error of the start is found in the driver's text") {
  CHECK(SqlstateInText("connection to server at \"h\" failed: FATAL:  28P01: password wrong\n"
                       "LOCATION:  auth_failed, auth.c:320") == "28P01");
  CHECK(SqlstateInText("connection to server failed: Connection refused").empty());
  CHECK(SqlstateInText("FATAL:  sorry: no").empty());
  CHECK(SqlstateInText("FATAL:  2").empty());
}

TEST_CASE("a pooler shows by refusing a parameter of the start") {
  CHECK(
      IsRefusedStartupParameter({"08P01", true, "FATAL: unsupported startup parameter: options"}));
  CHECK_FALSE(IsRefusedStartupParameter(Error("28P01", true)));
}

}  // namespace
}  // namespace counter::postgres
