#include "server/config/nearest_name.h"

#include <catch2/catch.hpp>
#include <string>

namespace counter {
namespace {

TEST_CASE("an edit is an addition, a removal, a replacement or a swap of neighbours") {
  CHECK(EditDistance("", "") == 0);
  CHECK(EditDistance("abc", "abc") == 0);
  CHECK(EditDistance("abc", "abcd") == 1);
  CHECK(EditDistance("abc", "bc") == 1);
  CHECK(EditDistance("abc", "axc") == 1);
  CHECK(EditDistance("abc", "acb") == 1);
  CHECK(EditDistance("", "abc") == 3);
  CHECK(EditDistance("kitten", "sitting") == 3);
  CHECK(EditDistance("a", "xyz") == EditDistance("xyz", "a"));
}

TEST_CASE("the nearest name is found whatever its case and its dashes") {
  const std::vector<std::string> names = {"--grpc-listen", "--http-listen", "--data-dir"};
  CHECK(NearestName("--grpc-listn", names) == "--grpc-listen");
  CHECK(NearestName("--grpc_listen", names) == "--grpc-listen");
  CHECK(NearestName("--HTTP-LISTEN", names) == "--http-listen");
  CHECK(NearestName("--datadir", names) == "--data-dir");
}

TEST_CASE("a name that is like none of them has no nearest one") {
  const std::vector<std::string> names = {"GRPC_LISTEN", "DATA_DIR"};
  CHECK(NearestName("PATH", names) == std::nullopt);
  CHECK(NearestName("", names) == std::nullopt);
  CHECK(NearestName(std::string(1'000'000, 'A'), names) == std::nullopt);
  CHECK(NearestName("GRPC_LISTEN", {}) == std::nullopt);
}

}  // namespace
}  // namespace counter
