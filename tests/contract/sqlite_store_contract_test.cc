// The embedded store under the contract suite of LikeStore.
#include <cstdlib>
#include <memory>
#include <string>

#include "storage/sqlite/database.h"
#include "storage/sqlite/sqlite_store.h"
#include "tests/contract/store_contract.h"
#include "tests/support/temp_dir.h"

namespace counter::testing {
namespace {

using sqlite::Database;
using sqlite::DatabaseCode;
using sqlite::Statement;

class SqliteUnderTest final : public StoreUnderTest {
 public:
  SqliteUnderTest() { Open(); }

  LikeStore& store() override { return *store_; }
  LikeMaintenance& maintenance() override { return *store_; }
  CounterCopies& copies() override { return *store_; }
  void Reopen() override {
    store_.reset();
    Open();
  }

  void PlantCounter(const Item& item, int64_t count, int64_t digest) override {
    Must(
        Change("INSERT INTO counters(item_type, item_id, count, version, digest) "
               "VALUES(?1, ?2, ?3, 1, ?4) ON CONFLICT(item_type, item_id) "
               "DO UPDATE SET count = ?3, digest = ?4",
               int64_t{item.type.value}, item.id, count, digest));
  }
  void PlantLikeAt(UserId user, const Item& item, int64_t liked_at) override {
    Must(
        Change("INSERT INTO user_likes(item_type, user_id, item_id, created_at) "
               "VALUES(?1, ?2, ?3, ?4)",
               int64_t{item.type.value}, user.value, item.id, liked_at));
  }
  void MakeLikersIndex() override {
    likers_index_ = true;
    Reopen();
  }
  void RemoveLike(UserId user, const Item& item) override {
    Must(Change("DELETE FROM user_likes WHERE item_type = ?1 AND user_id = ?2 AND item_id = ?3",
                int64_t{item.type.value}, user.value, item.id));
  }
  bool RefusesNegativeCount(const Item& item) override {
    return Change("UPDATE counters SET count = -1 WHERE item_type = ?1 AND item_id = ?2",
                  int64_t{item.type.value}, item.id) == DatabaseCode::kConstraint;
  }

 private:
  void Open() {
    SqliteStoreOptions options;
    options.path = folder_.File("likes.db");
    options.likers_index = likers_index_;
    store_ = OpenSqliteStore(options).value();
  }

  // As an operator with the sqlite3 shell would, while the store is open.
  template <class... Values>
  DatabaseCode Change(const char* sql, Values... values) {
    std::string error;
    const std::unique_ptr<Database> database =
        Database::Open(folder_.File("likes.db"), Database::Use::kWrite, 1000, error);
    Statement statement(*database, sql);
    return statement.Run(values...);
  }
  static void Must(DatabaseCode code) {
    if (code != DatabaseCode::kOk) std::abort();
  }

  TempDir folder_;
  bool likers_index_ = false;
  std::unique_ptr<MaintainedStore> store_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakeStoreUnderTest() { return std::make_unique<SqliteUnderTest>(); }

}  // namespace counter::testing
