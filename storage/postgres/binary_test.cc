#include "storage/postgres/binary.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace counter::postgres {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

TEST_CASE("integers go over the wire in network order") {
  CHECK(EncodeInt2(0x0102) == Bytes({1, 2}));
  CHECK(EncodeInt4(-2) == Bytes({0xff, 0xff, 0xff, 0xfe}));
  CHECK(EncodeInt8(0x0102030405060708) == Bytes({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_CASE("an integer of every size comes back as it went, its sign too") {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{255}, int64_t{-32768}}) {
    CHECK(DecodeInt(EncodeInt2(static_cast<int16_t>(value))) == value);
    CHECK(DecodeInt(EncodeInt4(static_cast<int32_t>(value))) == value);
    CHECK(DecodeInt(EncodeInt8(value)) == value);
  }
  CHECK(DecodeInt(EncodeInt8(std::numeric_limits<int64_t>::min())) ==
        std::numeric_limits<int64_t>::min());
  CHECK(DecodeInt(EncodeInt8(std::numeric_limits<int64_t>::max())) ==
        std::numeric_limits<int64_t>::max());
}

TEST_CASE("an array carries its dimension, its element type and each element's length") {
  CHECK(EncodeInt2Array({7, -1}) == Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0,    2,
                                           0, 0, 0, 1, 0, 0, 0, 2, 0, 7, 0, 0,  0, 2, 0xff, 0xff}));
  CHECK(EncodeInt8Array({}) == Bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20}));
}

TEST_CASE("an array comes back as it went") {
  const std::vector<int64_t> values = {1, -5, std::numeric_limits<int64_t>::max()};
  CHECK(DecodeIntArray(EncodeInt8Array(values)) == values);
  CHECK(DecodeIntArray(EncodeInt8Array({})) == std::vector<int64_t>());
}

TEST_CASE("an array that is cut anywhere is refused, not read beyond its end") {
  const std::string whole = EncodeInt8Array({1, 2});
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO("bytes: " << size);
    CHECK_FALSE(DecodeIntArray(whole.substr(0, size)).has_value());
  }
  CHECK_FALSE(DecodeIntArray(whole + "x").has_value());
}

TEST_CASE("cells of another size than the type's are refused") {
  CHECK_FALSE(DecodeInt("").has_value());
  CHECK_FALSE(DecodeInt("abc").has_value());
  CHECK_FALSE(DecodeBool("").has_value());
  CHECK(DecodeBool(Bytes({1})) == true);
  CHECK(DecodeBool(Bytes({0})) == false);
}

}  // namespace
}  // namespace counter::postgres
