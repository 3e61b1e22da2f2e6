#include "server/config/value.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/config/service_url.h"

namespace counter {
namespace {

using Problem = std::optional<std::string>;

constexpr absl::string_view kDigits = "0123456789";

Problem ParseNumber(absl::string_view text, int min, int max, int& out) {
  absl::string_view digits = text;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  if (text.empty()) return "it is empty";
  if (digits.empty() || digits.find_first_not_of(kDigits) != absl::string_view::npos) {
    return "it is not a whole number in digits";
  }
  if (negative) return "it is negative";
  int value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec == std::errc::result_out_of_range || value > max) return "it is too large";
  if (value < min) return "it is too small";
  out = value;
  return std::nullopt;
}

Problem ParseBool(absl::string_view text, bool& out) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") {
    out = true;
  } else if (text == "false" || text == "no" || text == "off" || text == "0") {
    out = false;
  } else {
    return "it is neither";
  }
  return std::nullopt;
}

bool IsHostName(absl::string_view host) {
  const auto is_name_char = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.'; };
  return !host.empty() && host.size() <= 253 && absl::ascii_isalnum(host.front()) &&
         std::all_of(host.begin(), host.end(), is_name_char);
}

Problem ParseHost(absl::string_view text, std::string& out) {
  const std::string host(text);
  unsigned char address[sizeof(in6_addr)];
  if (host.find_first_not_of("0123456789.") == std::string::npos) {
    if (inet_pton(AF_INET, host.c_str(), address) != 1) return "its host is no IPv4 address";
  } else if (!IsHostName(host)) {
    return "its host is neither a name nor an address";
  }
  out = host;
  return std::nullopt;
}

Problem ParseListen(absl::string_view text, ListenAddress& out) {
  if (text.empty()) return "it is empty";
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return "it has no port";
  absl::string_view host = text.substr(0, colon);
  ListenAddress address;
  if (absl::ConsumePrefix(&host, "[")) {
    unsigned char bytes[sizeof(in6_addr)];
    if (!absl::ConsumeSuffix(&host, "]")) return "a bracket is missing";
    address.host = std::string(host);
    if (address.host.find('\0') != std::string::npos ||
        inet_pton(AF_INET6, address.host.c_str(), bytes) != 1) {
      return "between its brackets is no IPv6 address";
    }
  } else {
    if (host.empty()) return "it has no host";
    if (host.find(':') != absl::string_view::npos) return "an IPv6 address needs brackets";
    if (Problem problem = ParseHost(host, address.host)) return problem;
  }
  if (ParseNumber(text.substr(colon + 1), 0, 65535, address.port)) {
    return "its port is not a number from 0 to 65535";
  }
  out = std::move(address);
  return std::nullopt;
}

bool IsItemTypeName(absl::string_view name) {
  const auto is_name_char = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  };
  return !name.empty() && name.size() <= 32 && absl::ascii_islower(name.front()) &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

Problem ParseItemTypes(absl::string_view text, NamedItemTypes& out) {
  constexpr size_t kTypesMax = 100;
  NamedItemTypes types;
  std::set<std::string> names;
  std::set<int> numbers;
  if (text.empty()) return "it is empty";
  for (const absl::string_view entry : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const std::string place = absl::StrCat("entry ", types.size() + 1);
    int number = 0;
    if (entry.find('=') == absl::string_view::npos) return place + " has no =";
    if (!IsItemTypeName(parts.first)) return place + " has no valid name";
    if (ParseNumber(parts.second, 1, 32767, number)) return place + " has no valid number";
    if (!names.emplace(parts.first).second) return place + " repeats a name";
    if (!numbers.insert(number).second) return place + " repeats a number";
    types.emplace_back(std::string(parts.first), ItemType{static_cast<int16_t>(number)});
    if (types.size() > kTypesMax) return "it has more than 100 entries";
  }
  out = std::move(types);
  return std::nullopt;
}

Problem ParseServiceUrls(absl::string_view text, const std::vector<absl::string_view>& schemes,
                         std::vector<ServiceUrl>& out) {
  constexpr size_t kUrlsMax = 16;
  std::vector<ServiceUrl> urls;
  for (const absl::string_view part : SplitUrls(text)) {
    ServiceUrl url;
    if (Problem problem = ParseServiceUrl(part, schemes, url))
      return absl::StrCat("of URL ", urls.size() + 1, ": ", *problem);
    urls.push_back(std::move(url));
  }
  if (urls.size() > kUrlsMax) return absl::StrCat("it has more than ", kUrlsMax, " URLs");
  out = std::move(urls);
  return std::nullopt;
}

Problem ParsePlaintextListeners(absl::string_view text, PlaintextListeners& out) {
  out = {};
  if (text.empty()) return std::nullopt;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    if (name == "grpc") {
      out.grpc = true;
    } else if (name == "http") {
      out.http = true;
    } else if (name == "metrics") {
      out.metrics = true;
    } else {
      return "it names something else";
    }
  }
  return std::nullopt;
}

template <class Enum>
struct Word {
  absl::string_view text;
  Enum value;
};

template <class Enum, size_t size>
Problem ParseWord(absl::string_view text, const Word<Enum> (&words)[size], Enum& out) {
  for (const Word<Enum>& word : words) {
    if (word.text != text) continue;
    out = word.value;
    return std::nullopt;
  }
  return "it is none of them";
}

constexpr Word<LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                         {"info", LogLevel::kInfo},
                                         {"warning", LogLevel::kWarning},
                                         {"error", LogLevel::kError}};
constexpr Word<LogFormat> kLogFormats[] = {
    {"auto", LogFormat::kAuto}, {"text", LogFormat::kText}, {"json", LogFormat::kJson}};
constexpr Word<Durability> kDurabilities[] = {{"local", Durability::kLocal},
                                              {"replicated", Durability::kReplicated},
                                              {"unsafe", Durability::kUnsafe}};

// One overload for each type that a field may have.
struct Parser {
  const Setting& setting;
  absl::string_view text;
  Config& config;

  Problem operator()(int Config::*field) const {
    return ParseNumber(text, setting.min, setting.max, config.*field);
  }
  Problem operator()(absl::Duration Config::*field) const {
    int seconds = 0;
    Problem problem = ParseNumber(text, setting.min, setting.max, seconds);
    if (!problem) config.*field = absl::Seconds(seconds);
    return problem;
  }
  Problem operator()(bool Config::*field) const { return ParseBool(text, config.*field); }
  Problem operator()(std::string Config::*field) const {
    if (text.find('\0') != absl::string_view::npos) return "it holds a zero byte";
    config.*field = std::string(text);
    return std::nullopt;
  }
  Problem operator()(ListenAddress Config::*field) const {
    return ParseListen(text, config.*field);
  }
  Problem operator()(std::optional<ListenAddress> Config::*field) const {
    config.*field = std::nullopt;
    if (text.empty()) return std::nullopt;
    return ParseListen(text, (config.*field).emplace());
  }
  Problem operator()(std::optional<ServiceUrl> Config::*field) const {
    config.*field = std::nullopt;
    if (text.empty()) return std::nullopt;
    return ParseServiceUrl(text, setting.schemes, (config.*field).emplace());
  }
  Problem operator()(std::vector<ServiceUrl> Config::*field) const {
    return ParseServiceUrls(text, setting.schemes, config.*field);
  }
  Problem operator()(NamedItemTypes Config::*field) const {
    return ParseItemTypes(text, config.*field);
  }
  Problem operator()(LogLevel Config::*field) const {
    return ParseWord(text, kLogLevels, config.*field);
  }
  Problem operator()(LogFormat Config::*field) const {
    return ParseWord(text, kLogFormats, config.*field);
  }
  Problem operator()(PlaintextListeners Config::*field) const {
    return ParsePlaintextListeners(text, config.*field);
  }
  Problem operator()(Durability Config::*field) const {
    return ParseWord(text, kDurabilities, config.*field);
  }
};

}  // namespace

Problem ParseValue(const Setting& setting, absl::string_view text, Config& config) {
  return std::visit(Parser{setting, text, config}, setting.field);
}

std::string ShowValue(const Setting& setting, absl::string_view text) {
  constexpr size_t kShownBytesMax = 200;
  const bool is_list = std::holds_alternative<std::vector<ServiceUrl> Config::*>(setting.field);
  if (setting.secret && !text.empty()) return is_list ? RedactUrls(text) : RedactUrl(text);
  const bool cut = text.size() > kShownBytesMax;
  if (cut) text = text.substr(0, kShownBytesMax);
  return absl::StrCat("\"", absl::CHexEscape(text), cut ? "..." : "", "\"");
}

}  // namespace counter
