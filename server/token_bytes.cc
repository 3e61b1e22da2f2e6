#include "server/token_bytes.h"

#include <array>

#include "storage/like.h"

namespace counter {

void AppendNumber(std::string& out, uint64_t number, size_t bytes) {
  std::array<char, 8> text;
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(number >> (8 * i));
  out.append(text.data(), bytes);
}

uint64_t ReadNumber(absl::string_view in, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) {
    number |= static_cast<uint64_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  }
  return number;
}

uint64_t CheckSum(uint64_t sum, absl::string_view bytes) {
  const size_t size = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) sum = Mix64(sum ^ ReadNumber(bytes, 8));
  return Mix64(sum ^ ReadNumber(bytes, bytes.size()) ^ (uint64_t{size} << 56));
}

}  // namespace counter
