#include "server/callers/caller_tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/callers/caller_lines.h"

namespace counter {
namespace {

// What may stand in a header.
bool IsVisible(absl::string_view token) {
  return std::all_of(token.begin(), token.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

}  // namespace

CallerTokens::Hash CallerTokens::HashOf(absl::string_view token) {
  Hash hash = {};
  unsigned int length = 0;
  EVP_Digest(token.data(), token.size(), hash.data(), &length, EVP_sha256(), nullptr);
  return hash;
}

bool CallerTokens::ParseHash(absl::string_view hex, Hash& hash) {
  const auto is_hex = [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); };
  if (hex.size() != 2 * hash.size() || !std::all_of(hex.begin(), hex.end(), is_hex)) return false;
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return true;
}

absl::StatusOr<CallerTokens> CallerTokens::Parse(absl::string_view text) {
  CallerTokens tokens;
  CallerFaults faults("CALLER_TOKENS_FILE");
  for (const CallerLine& line : SplitCallerLines(text)) {
    // Of a line that is wrong any word may be the token: none is shown.
    if (line.words.size() != 2 || !IsCallerName(line.words[0])) {
      faults.Add(line.number, "expected `NAME sha256:HASH` or `NAME TOKEN`");
      continue;
    }
    absl::string_view token = line.words[1];
    Hash hash = {};
    if (absl::ConsumePrefix(&token, "sha256:")) {
      if (!ParseHash(token, hash)) {
        faults.Add(line.number, "expected 64 hexadecimal digits after sha256:");
        continue;
      }
    } else if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax ||
               !IsVisible(token)) {
      faults.Add(line.number, absl::StrCat("expected a token of ", kTokenBytesMin, " to ",
                                           kTokenBytesMax, " visible ASCII characters"));
      continue;
    } else {
      hash = HashOf(token);
    }
    if (std::find(tokens.hashes_.begin(), tokens.hashes_.end(), hash) != tokens.hashes_.end()) {
      faults.Add(line.number, "the token is there already");
      continue;
    }
    tokens.lines_.push_back({line.number, line.words[0]});
    tokens.hashes_.push_back(hash);
    if (static_cast<int>(tokens.lines_.size()) > kTokensMax) {
      faults.Add(line.number, absl::StrCat("more than ", kTokensMax, " tokens"));
      break;
    }
  }
  const absl::Status verdict = faults.Verdict();
  if (!verdict.ok()) return verdict;
  return tokens;
}

std::string CallerTokens::Find(absl::string_view token) const {
  if (token.size() > kTokenBytesMax) return "";
  const Hash hash = HashOf(token);
  const std::string* name = nullptr;
  // To the end, also after it was found.
  for (size_t i = 0; i < hashes_.size(); ++i) {
    if (CRYPTO_memcmp(hash.data(), hashes_[i].data(), hash.size()) == 0) name = &lines_[i].name;
  }
  return name == nullptr ? "" : *name;
}

}  // namespace counter
