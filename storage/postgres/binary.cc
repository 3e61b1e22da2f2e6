#include "storage/postgres/binary.h"

#include <type_traits>

namespace counter::postgres {
namespace {

template <class Int>
void AppendBigEndian(std::string& out, Int value) {
  const auto bits = static_cast<std::make_unsigned_t<Int>>(value);
  for (int shift = 8 * (static_cast<int>(sizeof bits) - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>((bits >> shift) & 0xff));
}

template <class Int>
std::string Encode(Int value) {
  std::string out;
  AppendBigEndian(out, value);
  return out;
}

constexpr size_t kArrayHeaderBytes = 12;
constexpr size_t kArrayDimensionBytes = 8;

template <class Int>
std::string EncodeArray(const std::vector<Int>& values, TypeId element) {
  std::string out;
  out.reserve(kArrayHeaderBytes + kArrayDimensionBytes + values.size() * (4 + sizeof(Int)));
  AppendBigEndian<int32_t>(out, values.empty() ? 0 : 1);  // Dimensions.
  AppendBigEndian<int32_t>(out, 0);                       // No nulls.
  AppendBigEndian<uint32_t>(out, static_cast<uint32_t>(element));
  if (values.empty()) return out;
  AppendBigEndian<int32_t>(out, static_cast<int32_t>(values.size()));
  AppendBigEndian<int32_t>(out, 1);  // The first subscript.
  for (const Int value : values) {
    AppendBigEndian<int32_t>(out, sizeof(Int));
    AppendBigEndian(out, value);
  }
  return out;
}

// Sign-extends: an int2 of -1 is -1.
int64_t BigEndian(absl::string_view bytes) {
  uint64_t value = (bytes[0] & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  return static_cast<int64_t>(value);
}

// Takes an int4 off the front; absent if the bytes have ended.
std::optional<int64_t> TakeInt4(absl::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const int64_t value = BigEndian(bytes.substr(0, 4));
  bytes.remove_prefix(4);
  return value;
}

}  // namespace

std::string EncodeInt2(int16_t value) { return Encode(value); }
std::string EncodeInt4(int32_t value) { return Encode(value); }
std::string EncodeInt8(int64_t value) { return Encode(value); }

std::string EncodeInt2Array(const std::vector<int16_t>& values) {
  return EncodeArray(values, TypeId::kInt2);
}
std::string EncodeInt8Array(const std::vector<int64_t>& values) {
  return EncodeArray(values, TypeId::kInt8);
}

std::optional<int64_t> DecodeInt(absl::string_view cell) {
  if (cell.size() != 2 && cell.size() != 4 && cell.size() != 8) return std::nullopt;
  return BigEndian(cell);
}

std::optional<bool> DecodeBool(absl::string_view cell) {
  if (cell.size() != 1) return std::nullopt;
  return cell[0] != 0;
}

std::optional<std::vector<int64_t>> DecodeIntArray(absl::string_view cell) {
  const std::optional<int64_t> dimensions = TakeInt4(cell);
  const std::optional<int64_t> has_nulls = TakeInt4(cell);
  const std::optional<int64_t> element = TakeInt4(cell);
  if (!element.has_value() || *has_nulls != 0) return std::nullopt;
  if (*dimensions == 0) return std::vector<int64_t>();
  const std::optional<int64_t> size = TakeInt4(cell);
  const std::optional<int64_t> first_subscript = TakeInt4(cell);
  if (*dimensions != 1 || !first_subscript.has_value() || *size < 0) return std::nullopt;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < *size; ++i) {
    const std::optional<int64_t> bytes = TakeInt4(cell);
    if (!bytes.has_value() || *bytes < 0 || cell.size() < static_cast<size_t>(*bytes))
      return std::nullopt;
    const std::optional<int64_t> value = DecodeInt(cell.substr(0, static_cast<size_t>(*bytes)));
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
    cell.remove_prefix(static_cast<size_t>(*bytes));
  }
  if (!cell.empty()) return std::nullopt;
  return values;
}

}  // namespace counter::postgres
