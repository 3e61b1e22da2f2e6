#include "storage/postgres/list_statements.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "storage/likers_index.h"
#include "storage/postgres/binary.h"
#include "storage/postgres/row_reader.h"

namespace counter::postgres {
namespace {

// One row more than asked for says that there is a next page, here and below. The partitions that
// are not asked for are not read.
const Statement kListLikes = {
    "counter_list_likes",
    R"sql(
SELECT created_at, item_type, item_id FROM user_likes
WHERE user_id = $1::int8 AND item_type = ANY ($2::int2[])
  AND (created_at, item_type, item_id) < ($3::int4, $4::int2, $5::int8)
ORDER BY created_at DESC, item_type DESC, item_id DESC LIMIT $6::int4 + 1
)sql",
    {TypeId::kInt8, TypeId::kInt2Array, TypeId::kInt4, TypeId::kInt2, TypeId::kInt8, TypeId::kInt4},
    false};

// A plan for the parameters at hand, and one that walks the index in its order: whatever the
// planner thinks of the item, it must not fetch all likers of a popular one to sort them. Only
// those of the same second are sorted, as they come.
const Statement kSetForList = {"counter_set_for_list",
                               R"sql(
SELECT set_config('plan_cache_mode', 'force_custom_plan', true),
  set_config('enable_seqscan', 'off', true),
  set_config('enable_bitmapscan', $1::text, true),
  set_config('enable_sort', $1::text, true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true),
  set_config('statement_timeout', $2::int4::text, true)
)sql",
                               {TypeId::kText, TypeId::kInt4},
                               false};

// Without the index it answers a row of user 0, which does not exist, and reads nothing.
constexpr char kListLikers[] = R"sql(
SELECT 0::int4, 0::int8 WHERE NOT ($0)
UNION ALL
(SELECT created_at, user_id FROM $1
 WHERE ($0) AND item_id = $$1::int8 AND (created_at, user_id) < ($$2::int4, $$3::int8)
 ORDER BY created_at DESC, user_id DESC LIMIT $$4::int4 + 1)
)sql";

StatementCall SetForList(const char* sorting, absl::Duration timeout) {
  const int64_t milliseconds = std::max<int64_t>(absl::ToInt64Milliseconds(timeout), 1);
  return {&kSetForList, {sorting, EncodeInt4(static_cast<int32_t>(milliseconds))}};
}

std::string EncodeSeconds(int64_t seconds) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  return EncodeInt4(static_cast<int32_t>(std::clamp<int64_t>(seconds, -kMax, kMax)));
}

constexpr int64_t kNewest = std::numeric_limits<int64_t>::max();

}  // namespace

std::string PartitionName(ItemType type) { return absl::StrCat("user_likes_", type.value); }

std::string LikersIndexName(ItemType type) { return absl::StrCat(PartitionName(type), "_likers"); }

std::string LikersIndexIsValid(ItemType type) {
  return absl::StrCat("EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('",
                      LikersIndexName(type), "') AND indrelid = to_regclass('", PartitionName(type),
                      "') AND indisvalid)");
}

std::vector<StatementCall> ListStatements::ListLikes(const LikesQuery& query,
                                                     absl::Duration timeout) {
  constexpr int16_t kLastType = std::numeric_limits<int16_t>::max();
  std::vector<int16_t> types;
  for (const ItemType type : query.types) types.push_back(type.value);
  const ListedLike after =
      query.after.value_or(ListedLike{Item{ItemType{kLastType}, kNewest}, kNewest});
  return {SetForList("on", timeout),
          {&kListLikes,
           {EncodeInt8(query.user.value), EncodeInt2Array(types), EncodeSeconds(after.liked_at),
            EncodeInt2(after.item.type.value), EncodeInt8(after.item.id),
            EncodeInt4(query.likes_max)}}};
}

std::vector<StatementCall> ListStatements::ListLikers(const LikersQuery& query,
                                                      absl::Duration timeout) {
  const ItemType type = query.item.type;
  std::unique_ptr<LikersText>& text = likers_[type];
  if (text == nullptr) {
    text = std::make_unique<LikersText>();
    text->sql = absl::Substitute(kListLikers, LikersIndexIsValid(type), PartitionName(type));
    text->statement = {"counter_list_likers",
                       text->sql.c_str(),
                       {TypeId::kInt8, TypeId::kInt4, TypeId::kInt8, TypeId::kInt4},
                       false};
  }
  const ListedLiker after = query.after.value_or(ListedLiker{UserId{kNewest}, kNewest});
  return {SetForList("off", timeout),
          {&text->statement,
           {EncodeInt8(query.item.id), EncodeSeconds(after.liked_at), EncodeInt8(after.user.value),
            EncodeInt4(query.likers_max)}}};
}

absl::StatusOr<LikesPage> DecodeLikes(const Table& table, int likes_max) {
  LikesPage page;
  page.more = table.rows() > likes_max;
  for (int i = 0; i < std::min(table.rows(), likes_max); ++i) {
    RowReader row(table, i);
    ListedLike& like = page.likes.emplace_back();
    like.liked_at = row.Int();
    like.item.type.value = static_cast<int16_t>(row.Int());
    like.item.id = row.Int();
    if (!row.good()) return Misshapen();
  }
  return page;
}

absl::StatusOr<LikersPage> DecodeLikers(const Table& table, int likers_max) {
  LikersPage page;
  page.more = table.rows() > likers_max;
  for (int i = 0; i < std::min(table.rows(), likers_max); ++i) {
    RowReader row(table, i);
    ListedLiker& liker = page.likers.emplace_back();
    liker.liked_at = row.Int();
    liker.user.value = row.Int();
    if (!row.good()) return Misshapen();
    if (liker.user.value == 0) return LikersNotIndexed();
  }
  return page;
}

}  // namespace counter::postgres
