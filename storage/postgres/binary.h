// PostgreSQL's binary format of the few types that our statements use.
//
// Use it to make parameters and to read cells. Pure functions; thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_BINARY_H_
#define COUNTER_STORAGE_POSTGRES_BINARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace counter::postgres {

// Object ids of types, fixed for ever by PostgreSQL (catalog/pg_type.dat).
enum class TypeId : uint32_t {
  kBool = 16,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kInt2Array = 1005,
  kInt8Array = 1016,
};

std::string EncodeInt2(int16_t value);
std::string EncodeInt4(int32_t value);
std::string EncodeInt8(int64_t value);
// One dimension, no nulls; {} for none.
std::string EncodeInt2Array(const std::vector<int16_t>& values);
std::string EncodeInt8Array(const std::vector<int64_t>& values);

// An int2, int4 or int8, by the size of the cell; absent for any other size.
std::optional<int64_t> DecodeInt(absl::string_view cell);
std::optional<bool> DecodeBool(absl::string_view cell);
// An int2[] or int8[] of one dimension without nulls; absent if it is not.
std::optional<std::vector<int64_t>> DecodeIntArray(absl::string_view cell);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_BINARY_H_
