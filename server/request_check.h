// RequestCheck: turns what a caller sent into the vocabulary of likes, or into a list of everything
// that is wrong with it. One check is for one request (or one mutation) and one thread.
//
//   RequestCheck check(item_types);
//   const UserId user = check.User("user_id", request.user_id);
//   const Item item = check.ItemAt("item", request.item);
//   if (!check.ok()) return check.error();
//
// A value that was refused comes back as a harmless default; do not use it before ok() was asked.
#ifndef COUNTER_SERVER_REQUEST_CHECK_H_
#define COUNTER_SERVER_REQUEST_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "server/consistency_token.h"
#include "server/item_types.h"
#include "storage/like_store.h"

namespace counter {

// The most mutations, items or tokens of one request.
inline constexpr size_t kBatchItemsMax = 1000;

// How much of a list a page holds: at most, and where the caller does not say.
inline constexpr int kPageSizeMax = 1000;
inline constexpr int kPageSizeDefault = 100;

// A caller's text as an error may show it: printable, short, in quotes.
std::string QuotedText(absl::string_view text);

// An item as a caller named it.
struct ItemRef {
  std::string type;
  int64_t id = 0;
};

// A mutation as a caller sent it. `action` has the numbers of counter.v1.Action.
struct MutationRef {
  int64_t user_id = 0;
  ItemRef item;
  int action = 0;
};

// A read of counts. `consistency` has the numbers of counter.v1.Consistency.
struct CountsRequest {
  std::vector<ItemRef> items;
  int consistency = 0;
  std::vector<std::string> consistency_tokens;
  // Whether the caller asked for one item by the fields `item` and `consistency_token`; decides how
  // violations name the fields. Requires one item, and one token at most.
  bool single = false;
};

struct LikedRequest {
  int64_t user_id = 0;
  std::vector<ItemRef> items;
  int consistency = 0;
  std::vector<std::string> consistency_tokens;
};

// A watch of counts: up to kWatchItemsMax items.
inline constexpr size_t kWatchItemsMax = 100;
struct WatchRequest {
  std::vector<ItemRef> items;
  std::vector<std::string> consistency_tokens;
};

struct LikesListRequest {
  int64_t user_id = 0;
  std::vector<std::string> item_types;  // None: all.
  int page_size = 0;
  std::string page_token;
};

struct LikersListRequest {
  ItemRef item;
  int page_size = 0;
  std::string page_token;
};

// Where a value stands in a request, as "mutations[3].item.item_id": parts that become a text only
// for an error. Borrows them.
class FieldName {
 public:
  FieldName(const char* name) : list_(name) {}         // NOLINT(google-explicit-constructor)
  FieldName(const std::string& name) : list_(name) {}  // NOLINT(google-explicit-constructor)
  // Of element `index` of `list`, or a member of it: ".user_id".
  FieldName(absl::string_view list, size_t index, absl::string_view member = "")
      : list_(list), index_(index), member_(member) {}

  // With the name of a member behind it, if that is not empty.
  std::string Text(absl::string_view member = "") const;

 private:
  absl::string_view list_;
  std::optional<size_t> index_;
  absl::string_view member_;
};

class RequestCheck {
 public:
  explicit RequestCheck(const ItemTypes& item_types) : item_types_(item_types) {}

  UserId User(const FieldName& field, int64_t id);
  Item ItemAt(const FieldName& field, const ItemRef& item);
  Action ActionAt(const FieldName& field, int action);
  Consistency ConsistencyAt(const FieldName& field, int consistency);
  std::optional<ConsistencyToken> TokenAt(const FieldName& field, const std::string& token);

  // Sorted, each once.
  std::vector<ItemType> TypesAt(const FieldName& field, const std::vector<std::string>& names);
  // kPageSizeDefault for 0.
  int PageSizeAt(const FieldName& field, int page_size);

  // False, with a violation, if a list is longer than kBatchItemsMax: do not look into it then.
  bool Size(const FieldName& field, size_t size);

  void Add(const FieldName& field, std::string description, absl::string_view member = "");

  bool ok() const { return violations_.empty(); }
  // Requires !ok().
  absl::Status error() const { return MakeInvalidRequest(violations_); }

 private:
  ItemType TypeAt(const FieldName& field, absl::string_view name, absl::string_view member = "");

  const ItemTypes& item_types_;
  std::vector<FieldViolation> violations_;
};

// What a checked read comes to: distinct items, and for each item of the request which of them it
// is.
struct CheckedRead {
  std::vector<ItemRead> distinct;
  std::vector<size_t> index;  // items[i] of the request is distinct[index[i]].
  Consistency consistency = Consistency::kCached;
};

// Checks items, consistency and tokens of a read. A token of another timeline than `timeline` makes
// the read strong: versions of two timelines cannot be compared, and the primary's answer is final.
CheckedRead CheckRead(RequestCheck& check, const CountsRequest& request,
                      absl::string_view timeline);

}  // namespace counter

#endif  // COUNTER_SERVER_REQUEST_CHECK_H_
