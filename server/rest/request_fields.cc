#include "server/rest/request_fields.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace counter::rest {
namespace {

namespace json = boost::json;

// What stands in for an id that was refused.
constexpr int64_t kNoId = 1;

// A caller's text as an error may show it: printable and short.
std::string Shown(absl::string_view text) {
  constexpr size_t kShownBytesMax = 40;
  const bool cut = text.size() > kShownBytesMax;
  return absl::StrCat(absl::CHexEscape(text.substr(0, kShownBytesMax)), cut ? "..." : "");
}

std::string IdExpected(absl::string_view got) {
  return absl::StrCat("must be a whole number from 1 to ", std::numeric_limits<int64_t>::max(),
                      ", got ", Shown(got));
}

json::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

absl::string_view View(const json::string& text) { return {text.data(), text.size()}; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string DecodeQueryText(absl::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool has_two = i + 2 < text.size();
    if (text[i] == '%' && has_two && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      decoded.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::map<std::string, std::vector<std::string>, std::less<>> ParseQuery(absl::string_view query) {
  std::map<std::string, std::vector<std::string>, std::less<>> parameters;
  for (absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const size_t equals = part.find('=');
    const absl::string_view value =
        equals == absl::string_view::npos ? absl::string_view() : part.substr(equals + 1);
    parameters[DecodeQueryText(part.substr(0, equals))].push_back(DecodeQueryText(value));
  }
  return parameters;
}

RequestFields RequestFields::FromJson(absl::string_view body) {
  RequestFields fields;
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::system::error_code error;
  json::value value = json::parse(View(body), error, {}, options);
  if (error) {
    fields.Add("body", absl::StrCat("must be a JSON object, at most ", kJsonDepthMax,
                                    " levels deep; ", error.message()));
  } else if (!value.is_object()) {
    fields.Add("body", "must be a JSON object");
  } else {
    fields.object_ = std::move(value.get_object());
  }
  return fields;
}

RequestFields RequestFields::FromQuery(absl::string_view query) {
  RequestFields fields;
  fields.is_query_ = true;
  fields.parameters_ = ParseQuery(query);
  return fields;
}

void RequestFields::Add(std::string field, std::string description) {
  violations_.push_back({std::move(field), std::move(description)});
}

void RequestFields::AddMissing(absl::string_view field) {
  // Of a body that could not be read nothing is missing.
  const bool no_body = !violations_.empty() && violations_[0].field == "body";
  if (!no_body) Add(std::string(field), "is missing");
}

bool RequestFields::FitsBatch(absl::string_view field, size_t size) {
  if (size <= kBatchItemsMax) return true;
  Add(std::string(field),
      absl::StrCat("must have at most ", kBatchItemsMax, " elements, got ", size));
  return false;
}

int64_t RequestFields::IdOf(absl::string_view text, const std::string& field) {
  int64_t id = 0;
  const bool is_digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
  if (is_digits && absl::SimpleAtoi(text, &id) && id >= 1) return id;
  Add(field, IdExpected(absl::StrCat("\"", text, "\"")));
  return kNoId;
}

int64_t RequestFields::IdOf(const json::value& value, const std::string& field) {
  if (value.is_string()) return IdOf(View(value.get_string()), field);
  if (value.is_int64() && value.get_int64() >= 1) return value.get_int64();
  Add(field, IdExpected(value.is_structured() ? (value.is_array() ? "an array" : "an object")
                                              : json::serialize(value)));
  return kNoId;
}

const json::value* RequestFields::Find(absl::string_view name) const {
  return object_.if_contains(View(name));
}

int64_t RequestFields::Id(absl::string_view name) {
  const std::string field(name);
  if (is_query_) {
    const auto found = parameters_.find(field);
    if (found != parameters_.end()) return IdOf(found->second.back(), field);
  } else if (const json::value* value = Find(name)) {
    return IdOf(*value, field);
  }
  AddMissing(field);
  return kNoId;
}

std::string RequestFields::ItemTypeOf(const json::object& object, absl::string_view name,
                                      const std::string& field) {
  const json::value* value = object.if_contains(View(name));
  if (value == nullptr) return kDefaultItemType;
  if (value->is_string()) return std::string(View(value->get_string()));
  Add(field, "must be a string");
  return kDefaultItemType;
}

std::string RequestFields::ItemType(absl::string_view name) {
  if (!is_query_) return ItemTypeOf(object_, name, std::string(name));
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? kDefaultItemType : found->second.back();
}

const json::array* RequestFields::ArrayOf(absl::string_view name) {
  const json::value* value = Find(name);
  if (value == nullptr) {
    AddMissing(name);
    return nullptr;
  }
  if (!value->is_array()) {
    Add(std::string(name), "must be an array");
    return nullptr;
  }
  return FitsBatch(name, value->get_array().size()) ? &value->get_array() : nullptr;
}

std::vector<int64_t> RequestFields::Ids(absl::string_view name) {
  std::vector<int64_t> ids;
  const auto field = [&] { return absl::StrCat(name, "[", ids.size(), "]"); };
  if (!is_query_) {
    const json::array* array = ArrayOf(name);
    if (array == nullptr) return ids;
    ids.reserve(array->size());
    for (const json::value& value : *array) ids.push_back(IdOf(value, field()));
    return ids;
  }
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) {
    AddMissing(name);
    return ids;
  }
  std::vector<absl::string_view> texts;
  for (const std::string& list : found->second) {
    if (list.empty()) continue;
    for (absl::string_view text : absl::StrSplit(list, ',')) texts.push_back(text);
  }
  if (!FitsBatch(name, texts.size())) return ids;
  for (absl::string_view text : texts) ids.push_back(IdOf(text, field()));
  return ids;
}

std::vector<ItemRef> RequestFields::Items(absl::string_view name) {
  std::vector<ItemRef> items;
  const json::array* array = ArrayOf(name);
  if (array == nullptr) return items;
  items.reserve(array->size());
  for (const json::value& value : *array) {
    const std::string field = absl::StrCat(name, "[", items.size(), "]");
    ItemRef& item = items.emplace_back(ItemRef{kDefaultItemType, kNoId});
    if (!value.is_object()) {
      Add(field, "must be an object with item_id and item_type");
      continue;
    }
    const json::object& object = value.get_object();
    item.type = ItemTypeOf(object, "item_type", field + ".item_type");
    item.id = IdIn(object, "item_id", field);
  }
  return items;
}

int64_t RequestFields::IdIn(const json::object& object, absl::string_view name,
                            const std::string& field) {
  const std::string full = absl::StrCat(field, ".", name);
  const json::value* id = object.if_contains(View(name));
  if (id != nullptr) return IdOf(*id, full);
  Add(full, "is missing");
  return kNoId;
}

MutationRef RequestFields::MutationOf(const json::value& value, const std::string& field) {
  MutationRef mutation = {kNoId, {kDefaultItemType, kNoId}, kActionLike};
  if (!value.is_object()) {
    Add(field, "must be an object with user_id, item_id, item_type and action");
    return mutation;
  }
  const json::object& object = value.get_object();
  mutation.user_id = IdIn(object, "user_id", field);
  mutation.item.type = ItemTypeOf(object, "item_type", field + ".item_type");
  mutation.item.id = IdIn(object, "item_id", field);
  const json::value* action = object.if_contains("action");
  if (action != nullptr && *action == "unlike") {
    mutation.action = kActionUnlike;
  } else if (action == nullptr || *action != "like") {
    Add(field + ".action", "must be \"like\" or \"unlike\"");
  }
  return mutation;
}

std::vector<MutationFields> RequestFields::Mutations(absl::string_view name) {
  std::vector<MutationFields> mutations;
  const json::array* array = ArrayOf(name);
  if (array == nullptr) return mutations;
  mutations.reserve(array->size());
  // What is wrong with a mutation is not wrong with the request.
  std::vector<FieldViolation> of_request = std::exchange(violations_, {});
  for (const json::value& value : *array) {
    MutationRef mutation = MutationOf(value, absl::StrCat(name, "[", mutations.size(), "]"));
    mutations.push_back({std::move(mutation), std::exchange(violations_, {})});
  }
  violations_ = std::move(of_request);
  return mutations;
}

std::vector<std::string> RequestFields::Names(absl::string_view name) const {
  std::vector<std::string> names;
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) return names;
  for (const std::string& list : found->second) {
    for (absl::string_view text : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      names.emplace_back(text);
    }
  }
  return names;
}

int RequestFields::PageSize(absl::string_view name) {
  const std::string text = Text(name);
  int size = 0;
  if (text.empty() || absl::SimpleAtoi(text, &size)) return size;
  Add(std::string(name), absl::StrCat("must be a whole number from 1 to ", kPageSizeMax, ", got \"",
                                      Shown(text), "\""));
  return 0;
}

std::string RequestFields::Text(absl::string_view name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? std::string() : found->second.back();
}

}  // namespace counter::rest
