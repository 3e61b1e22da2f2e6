// The PostgreSQL store under the contract suite of LikeStore, on a real server: direct, and, with
// COUNTER_TEST_PGBOUNCER=1, through a pooler that gives a connection for a transaction only; with
// COUNTER_TEST_REPLICA=1, beside a streaming replica that reads go to.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/postgres/migrate_likers_index.h"
#include "storage/postgres/store.h"
#include "tests/contract/store_contract.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"

namespace counter::testing {
namespace {

PgBouncer* SharedPgBouncer() {
  if (std::getenv("COUNTER_TEST_PGBOUNCER") == nullptr) return nullptr;
  static const std::unique_ptr<PgBouncer> bouncer = [] {
    auto started = PgBouncer::Start(SharedPostgres());
    INFO(started.status());
    REQUIRE(started.ok());
    return *std::move(started);
  }();
  return bouncer.get();
}

PostgresServer* SharedStandby() {
  if (std::getenv("COUNTER_TEST_REPLICA") == nullptr) return nullptr;
  static const std::unique_ptr<PostgresServer> standby = [] {
    auto started = PostgresServer::StartStandby(SharedPostgres(), "contract");
    INFO(started.status());
    REQUIRE(started.ok());
    return *std::move(started);
  }();
  return standby.get();
}

class PostgresUnderTest final : public StoreUnderTest {
 public:
  PostgresUnderTest() : url_(MigratedDatabase()) { Open(); }

  LikeStore& store() override { return *store_; }
  LikeMaintenance& maintenance() override { return *store_; }
  CounterCopies& copies() override { return *store_; }
  void Reopen() override {
    store_.reset();
    Open();
  }

  void PlantCounter(const Item& item, int64_t count, int64_t digest) override {
    Must(
        absl::StrFormat("INSERT INTO counters (item_type, item_id, count, version, digest) "
                        "VALUES (%d, %d, %d, 1, %d) ON CONFLICT (item_type, item_id) "
                        "DO UPDATE SET count = excluded.count, digest = excluded.digest",
                        item.type.value, item.id, count, digest));
  }
  void PlantLikeAt(UserId user, const Item& item, int64_t liked_at) override {
    Must(absl::StrFormat(
        "INSERT INTO user_likes (item_type, user_id, item_id, created_at) VALUES (%d, %d, %d, %d)",
        item.type.value, user.value, item.id, liked_at));
  }
  void MakeLikersIndex() override {
    const auto made = postgres::MakeLikersIndex(url_, TestTypes());
    if (!made.ok()) std::abort();
  }
  void RemoveLike(UserId user, const Item& item) override {
    Must(absl::StrFormat(
        "DELETE FROM user_likes WHERE item_type = %d AND user_id = %d AND item_id = %d",
        item.type.value, user.value, item.id));
  }
  bool RefusesNegativeCount(const Item& item) override {
    const auto changed = SharedPostgres().Psql(
        url_,
        absl::StrFormat("UPDATE counters SET count = -1 WHERE item_type = %d AND item_id = %d",
                        item.type.value, item.id));
    return !changed.ok() &&
           changed.status().message().find("check constraint") != absl::string_view::npos;
  }

 private:
  void Open() {
    PgBouncer* bouncer = SharedPgBouncer();
    const size_t database = url_.find("dbname=") + 7;
    const std::string name = url_.substr(database, url_.find(' ', database) - database);
    postgres::StoreOptions options = TestStoreOptions(
        bouncer == nullptr ? url_ : absl::StrCat(bouncer->Url(name), " pgbouncer=true"));
    PostgresServer* standby = SharedStandby();
    if (standby != nullptr) options.replica_urls = {standby->Url(name)};
    store_ = OpenTestStore(options);
    if (standby == nullptr) return;
    const bool used =
        Eventually(absl::Seconds(20), [&] { return store_->Stats().replicas[0].usable; });
    if (!used) std::abort();
  }
  void Must(const std::string& sql) const {
    const auto done = SharedPostgres().Psql(url_, sql);
    if (!done.ok()) std::abort();
  }

  const std::string url_;
  std::unique_ptr<postgres::PostgresStore> store_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> MakeStoreUnderTest() {
  return std::make_unique<PostgresUnderTest>();
}

TEST_CASE("after the suite the server's log names no deadlock and no misuse") {
  CHECK(BadWords(SharedPostgres()).empty());
}

}  // namespace counter::testing
