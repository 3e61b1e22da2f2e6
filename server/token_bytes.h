// The bytes inside opaque tokens (consistency_token, page_token): numbers, little-endian, and a
// check sum that finds damage and mix-ups. It is no signature: who wants to make a token can.
//
// Threads: any. Ownership: none.
#ifndef COUNTER_SERVER_TOKEN_BYTES_H_
#define COUNTER_SERVER_TOKEN_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace counter {

// The lowest `bytes` bytes of the number. Requires bytes <= 8.
void AppendNumber(std::string& out, uint64_t number, size_t bytes);

// The number in the first `bytes` bytes. Requires bytes <= 8 and <= in.size().
uint64_t ReadNumber(absl::string_view in, size_t bytes);

// Takes the bytes into a check sum that was begun with `sum`.
uint64_t CheckSum(uint64_t sum, absl::string_view bytes);

}  // namespace counter

#endif  // COUNTER_SERVER_TOKEN_BYTES_H_
