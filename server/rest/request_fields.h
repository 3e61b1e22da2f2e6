// RequestFields: the named values of a REST request, from a JSON body or from a query, as the
// vocabulary of likes, with everything that is wrong with them.
//
//   RequestFields fields = RequestFields::FromJson(body);
//   const int64_t user = fields.Id("user_id");
//   if (!fields.violations().empty()) ...
//
// Ids are whole numbers from 1 to 2^63-1, as JSON numbers or as strings of digits, and exact: one
// with a point or an exponent is refused. Fields that nobody asks for are ignored, as FastAPI does.
// A value that was refused comes back as a harmless default.
//
// Threads: one at a time.
#ifndef COUNTER_SERVER_REST_REQUEST_FIELDS_H_
#define COUNTER_SERVER_REST_REQUEST_FIELDS_H_

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "server/request_check.h"

namespace counter::rest {

// How deep arrays and objects of a body may lie in each other.
inline constexpr size_t kJsonDepthMax = 16;
inline constexpr char kDefaultItemType[] = "post";
// The numbers of counter.v1.Action, which MutationRef has.
inline constexpr int kActionLike = 1;
inline constexpr int kActionUnlike = 2;

// A mutation of a batch and what is wrong with it: it is refused alone.
struct MutationFields {
  MutationRef mutation;
  std::vector<FieldViolation> violations;
};

class RequestFields {
 public:
  // A body that is no JSON object is a violation of "body".
  static RequestFields FromJson(absl::string_view body);
  // `query` as it came: "item_id=1&item_type=post".
  static RequestFields FromQuery(absl::string_view query);

  // Required.
  int64_t Id(absl::string_view name);
  // kDefaultItemType if it is not there.
  std::string ItemType(absl::string_view name);
  // Required; at most kBatchItemsMax. In a query: by commas, by repeating the name, or both.
  std::vector<int64_t> Ids(absl::string_view name);
  // Required; objects with item_id and item_type, at most kBatchItemsMax. JSON only.
  std::vector<ItemRef> Items(absl::string_view name);
  // Required; objects with user_id, item_id, item_type and action ("like" or "unlike"), at most
  // kBatchItemsMax. What is wrong with one is in its own violations. JSON only.
  std::vector<MutationFields> Mutations(absl::string_view name);

  // The following are for queries. Names by commas, by repeating the name, or both; none if it is
  // not there.
  std::vector<std::string> Names(absl::string_view name) const;
  // 0 if it is not there. Which sizes are allowed is not its business.
  int PageSize(absl::string_view name);
  // Empty if it is not there.
  std::string Text(absl::string_view name) const;

  const std::vector<FieldViolation>& violations() const { return violations_; }

 private:
  void Add(std::string field, std::string description);
  void AddMissing(absl::string_view field);
  bool FitsBatch(absl::string_view field, size_t size);
  int64_t IdOf(const boost::json::value& value, const std::string& field);
  int64_t IdOf(absl::string_view text, const std::string& field);
  // A required member of an object that is `field` of the request.
  int64_t IdIn(const boost::json::object& object, absl::string_view name, const std::string& field);
  std::string ItemTypeOf(const boost::json::object& object, absl::string_view name,
                         const std::string& field);
  MutationRef MutationOf(const boost::json::value& value, const std::string& field);
  const boost::json::value* Find(absl::string_view name) const;
  // The array of that name; null, with a violation, if there is none or it is too long.
  const boost::json::array* ArrayOf(absl::string_view name);

  bool is_query_ = false;
  boost::json::object object_;
  std::map<std::string, std::vector<std::string>, std::less<>> parameters_;
  std::vector<FieldViolation> violations_;
};

// %41 and + are decoded; what is no escape stays as it is.
std::string DecodeQueryText(absl::string_view text);

// The parameters of a query, by name, decoded, in their order.
std::map<std::string, std::vector<std::string>, std::less<>> ParseQuery(absl::string_view query);

}  // namespace counter::rest

#endif  // COUNTER_SERVER_REST_REQUEST_FIELDS_H_
