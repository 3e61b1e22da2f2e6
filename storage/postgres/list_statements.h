// Lists: a page of a user's likes, a page of an item's likers.
//
// Use it in the store. The likes of a user are found by the primary key, all of them, and the
// newest are picked; the likers of an item come from the optional index of the item's partition, in
// its order, and no more of them are read than are asked for. Whether that index is there is asked
// in the same statement: it may come and go while the store runs.
//
// Threads: the pure functions any; ListStatements one. Ownership: a call borrows the
// ListStatements.
#ifndef COUNTER_STORAGE_POSTGRES_LIST_STATEMENTS_H_
#define COUNTER_STORAGE_POSTGRES_LIST_STATEMENTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/like.h"
#include "storage/like_store.h"
#include "storage/postgres/statement.h"
#include "storage/postgres/table.h"

namespace counter::postgres {

// The names of a partition and of its index of likers.
std::string PartitionName(ItemType type);
std::string LikersIndexName(ItemType type);
// As SQL: whether the index is there and complete.
std::string LikersIndexIsValid(ItemType type);

// Each list is a unit: the settings of its transaction, then the question.
class ListStatements {
 public:
  static std::vector<StatementCall> ListLikes(const LikesQuery& query, absl::Duration timeout);
  // The partition is named in the text, so there is a text for each type.
  std::vector<StatementCall> ListLikers(const LikersQuery& query, absl::Duration timeout);

 private:
  struct LikersText {
    std::string sql;
    Statement statement;
  };
  std::map<ItemType, std::unique_ptr<LikersText>> likers_;  // Made when first asked for.
};

// Of the table of the last call. kLikersNotIndexed where that is the answer.
absl::StatusOr<LikesPage> DecodeLikes(const Table& table, int likes_max);
absl::StatusOr<LikersPage> DecodeLikers(const Table& table, int likers_max);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_LIST_STATEMENTS_H_
