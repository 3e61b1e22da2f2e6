#include "server/token_bytes.h"

#include "storage/like.h"

namespace counter {

void AppendNumber(std::string& out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(number >> (8 * i)));
}

uint64_t ReadNumber(absl::string_view in, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; ++i) {
    number |= static_cast<uint64_t>(static_cast<unsigned char>(in[i])) << (8 * i);
  }
  return number;
}

uint64_t CheckSum(uint64_t sum, absl::string_view bytes) {
  for (const char byte : bytes) sum = Mix64(sum ^ static_cast<unsigned char>(byte));
  return sum;
}

}  // namespace counter
