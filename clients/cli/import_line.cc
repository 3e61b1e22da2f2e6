#include "clients/cli/import_line.h"

#include <boost/json.hpp>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace counter::cli {
namespace {

namespace json = boost::json;

ImportLine Fault(absl::string_view fault) { return {std::nullopt, std::string(fault)}; }

ImportLine FromTexts(absl::string_view user, absl::string_view type, absl::string_view item,
                     absl::string_view action) {
  client::Mutation mutation;
  if (!absl::SimpleAtoi(user, &mutation.user_id)) return Fault("user_id: expected a number");
  if (type.empty()) return Fault("item_type: expected a name, such as post");
  mutation.item.type = std::string(type);
  if (!absl::SimpleAtoi(item, &mutation.item.id)) return Fault("item_id: expected a number");
  if (action == "unlike")
    mutation.action = client::Action::kUnlike;
  else if (!action.empty() && action != "like")
    return Fault("action: expected like or unlike");
  return {mutation, ""};
}

ImportLine FromCsv(absl::string_view line) {
  std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  if (cells.front() == "user_id") return {};
  if (cells.size() < 3 || cells.size() > 4)
    return Fault("expected user_id,item_type,item_id or user_id,item_type,item_id,action");
  return FromTexts(cells[0], cells[1], cells[2], cells.size() == 4 ? cells[3] : "");
}

// A number or a text as text; empty if it is neither.
std::string Text(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return "";
  if (const json::string* text = value->if_string()) return {text->data(), text->size()};
  if (const int64_t* number = value->if_int64()) return absl::StrCat(*number);
  return "";
}

ImportLine FromJson(absl::string_view line) {
  json::error_code error;
  const json::value value = json::parse(json::string_view(line.data(), line.size()), error);
  if (error || !value.is_object()) return Fault("expected a JSON object");
  const json::object& object = value.as_object();
  return FromTexts(Text(object, "user_id"), Text(object, "item_type"), Text(object, "item_id"),
                   Text(object, "action"));
}

}  // namespace

ImportLine ParseImportLine(absl::string_view line, ImportFormat format) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty()) return {};
  return format == ImportFormat::kCsv ? FromCsv(line) : FromJson(line);
}

}  // namespace counter::cli
