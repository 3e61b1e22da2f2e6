#include "cache/redis/slot.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace counter::redis {
namespace {

// CRC16 as XMODEM has it: polynomial 0x1021, from 0, not reflected.
constexpr std::array<uint16_t, 256> MakeTable() {
  std::array<uint16_t, 256> table = {};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      const bool carries = (crc & 0x8000U) != 0;
      crc = (crc << 1U) ^ (carries ? 0x1021U : 0U);
    }
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}

constexpr std::array<uint16_t, 256> kTable = MakeTable();

// What is hashed of a key.
absl::string_view HashedPart(absl::string_view key) {
  const size_t open = key.find('{');
  if (open == absl::string_view::npos) return key;
  const size_t close = key.find('}', open + 1);
  if (close == absl::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

int SlotOf(absl::string_view key) {
  unsigned crc = 0;
  for (const char c : HashedPart(key)) {
    const unsigned index = ((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xFFU;
    crc = ((crc << 8U) ^ kTable[index]) & 0xFFFFU;
  }
  return static_cast<int>(crc % kSlots);
}

}  // namespace counter::redis
