// The lane and its link by scripted dialogues: every answer that a connection can give to a unit.
#include "storage/postgres/lane.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <thread>

#include "base/error.h"

namespace counter::postgres {
namespace {

// A connection whose answers the test gives.
class ScriptedConnection final : public Connection {
 public:
  explicit ScriptedConnection(boost::asio::io_context& loop) : loop_(loop) {}

  void Connect(ConnectDone done, Lost lost) override {
    connect_ = std::move(done);
    lost_ = std::move(lost);
  }
  void Send(std::vector<StatementCall> calls, UnitDone done) override {
    sent.push_back(std::move(calls));
    dones_.push_back(std::move(done));
  }
  void Close() override {
    closed = true;
    connect_ = ConnectDone();  // It holds this connection: both would live for ever.
    boost::asio::post(loop_, [this] { Lose(UnitFate::kUnknown); });
  }
  bool pooled() const override { return is_pooled; }
  MonotonicTime heard() const override { return MonotonicTime(); }

  void Accept() {
    ConnectReply reply;
    reply.facts.server_version = 150000;
    reply.facts.fsync = reply.facts.full_page_writes = reply.facts.synchronous_commit = "on";
    reply.facts.migrated = true;
    std::exchange(connect_, ConnectDone())(std::move(reply));
  }
  // Answers the oldest unit that has not been answered.
  void Commit(const std::vector<Applied>& rows, std::optional<int64_t> outbox = std::nullopt) {
    UnitReply reply;
    reply.fate = UnitFate::kCommitted;
    Table table(5);
    int64_t n = 0;
    for (const Applied& row : rows) {
      table.Add(EncodeInt8(++n));
      table.Add(std::string(1, row.changed ? '\1' : '\0'));
      table.Add(EncodeInt8(row.count));
      table.Add(EncodeInt8(row.version));
      if (outbox.has_value()) {
        table.Add(EncodeInt8(*outbox));
      } else {
        table.AddNull();
      }
    }
    reply.tables = {table};
    Answer(std::move(reply));
  }
  void Fail(const std::string& sqlstate) {
    UnitReply reply;
    reply.fate = UnitFate::kRolledBack;
    reply.error.sqlstate = sqlstate;
    Answer(std::move(reply));
  }
  // The link breaks: the oldest unit ends with `fate`, those behind it were never run.
  void Break(UnitFate fate) {
    Lose(fate);
    std::exchange(lost_, Lost())(ServerError{"", true, "gone"});
  }

  size_t open() const { return dones_.size(); }
  std::vector<std::vector<StatementCall>> sent;
  bool is_pooled = false;
  bool closed = false;

 private:
  void Answer(UnitReply reply) {
    UnitDone done = std::move(dones_.front());
    dones_.pop_front();
    done(std::move(reply));
  }
  void Lose(UnitFate fate) {
    std::deque<UnitDone> dones = std::exchange(dones_, {});
    for (UnitDone& done : dones) {
      UnitReply reply;
      reply.fate = fate;
      reply.error.fatal = true;
      done(std::move(reply));
      fate = UnitFate::kNotRun;
    }
  }

  boost::asio::io_context& loop_;
  ConnectDone connect_;
  Lost lost_;
  std::deque<UnitDone> dones_;
};

class Stage final : public Lane::Host {
 public:
  explicit Stage(int rows_max = 300, int units_max = 2,
                 absl::Duration wait_max = absl::InfiniteDuration()) {
    Lane::Options options;
    options.wait_max = wait_max;
    options.batch_rows_max = rows_max;
    options.units_in_flight_max = units_max;
    Link::Options link;
    link.limits.backoff_first = absl::Microseconds(1);
    link.limits.backoff_max = absl::Microseconds(2);
    link.make = [this](const ConnectionOptions&) {
      connection = std::make_shared<ScriptedConnection>(loop);
      return connection;
    };
    lane = std::make_unique<Lane>(loop, options, link, *this);
    lane->Start();
    Run();
  }
  // NOLINTNEXTLINE(bugprone-exception-escape): an exception here is to end the test.
  ~Stage() override {
    if (connection != nullptr) connection->Close();
  }
  void MutationsEnded(std::vector<EndedMutation> ended) override {
    for (EndedMutation& mutation : ended) {
      REQUIRE(results.count(mutation.ticket.position) == 0);
      results.emplace(mutation.ticket.position, std::move(mutation.result));
    }
  }
  void BatchCommitted(const OutboxRow& row, const std::vector<ChangedItem>& changed) override {
    outbox.push_back(row.id);
    changes.insert(changes.end(), changed.begin(), changed.end());
  }
  // Runs what is due now, a back-off of microseconds included.
  void Run() {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      loop.restart();
      loop.poll();
    }
  }
  void Like(int64_t user, int64_t item) { REQUIRE(TryLike(user, item).ok()); }
  void Unlike(int64_t user, int64_t item) {
    const Mutation unlike = {{user}, {ItemType{1}, item}, Action::kUnlike};
    REQUIRE(lane->Push(unlike, {}, {nullptr, next++}).ok());
  }
  absl::Status TryLike(int64_t user, int64_t item) {
    return lane->Push({{user}, {ItemType{1}, item}, Action::kLike}, {}, {nullptr, next++});
  }
  // How many rows the last unit that was sent has.
  size_t LastRows() const {
    return DecodeIntArray(connection->sent.back().back().parameters[0])->size();
  }

  boost::asio::io_context loop{1};
  std::shared_ptr<ScriptedConnection> connection;
  std::unique_ptr<Lane> lane;
  std::map<int, absl::StatusOr<Applied>> results;
  std::vector<int64_t> outbox;
  std::vector<ChangedItem> changes;
  int next = 0;
};

TEST_CASE("what was pushed before the link was ready leaves in one unit when it is") {
  Stage stage;
  stage.Like(1, 10);
  stage.Like(2, 10);
  stage.lane->Pump();
  CHECK(stage.connection->sent.empty());
  stage.connection->Accept();
  REQUIRE(stage.connection->sent.size() == 1);
  CHECK(stage.LastRows() == 2);
  stage.connection->Commit({{true, 1, 5}, {true, 2, 6}}, 9);
  CHECK(*stage.results.at(0) == Applied{true, 1, 5});
  CHECK(*stage.results.at(1) == Applied{true, 2, 6});
  CHECK(stage.outbox == std::vector<int64_t>{9});
  REQUIRE(stage.changes.size() == 1);
}

TEST_CASE("what arrives while a unit is in flight leaves together when it has ended") {
  Stage stage;
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.lane->Pump();
  for (const int64_t user : {2, 3, 4}) {
    stage.Like(user, 10);
    stage.lane->Pump();
  }
  CHECK(stage.connection->sent.size() == 1);
  stage.connection->Commit({{true, 1, 5}});
  REQUIRE(stage.connection->sent.size() == 2);
  CHECK(stage.LastRows() == 3);
}

TEST_CASE("a lane without patience takes what leaves with the next unit, and refuses the rest") {
  Stage stage(2, 1, absl::ZeroDuration());
  // There is no link yet: what waits is another's matter.
  for (int64_t user = 1; user <= 4; ++user) stage.Like(user, 10);
  stage.connection->Accept();
  REQUIRE(stage.connection->open() == 1);
  // Two wait, two are under way.
  const absl::Status refused = stage.TryLike(5, 10);
  CHECK(ReasonOf(refused) == ErrorReason::kOverloaded);
  CHECK(refused == WriteCombiner::SlowError());
  stage.connection->Commit({{true, 1, 5}, {true, 2, 6}});
  stage.Like(6, 10);
  stage.Like(7, 10);
  CHECK_FALSE(stage.TryLike(8, 10).ok());
  stage.connection->Commit({{true, 3, 7}, {true, 4, 8}});
  stage.connection->Commit({{true, 5, 9}, {true, 6, 10}});
  CHECK(stage.results.size() == 6);
}

TEST_CASE("a full batch goes behind the one in flight, up to the limit, but not through a pooler") {
  Stage stage(2, 2);
  stage.connection->is_pooled = GENERATE(false, true);
  stage.connection->Accept();
  for (int64_t user = 1; user <= 8; ++user) stage.Like(user, 10);
  stage.lane->Pump();
  CHECK(stage.connection->open() == (stage.connection->is_pooled ? 1 : 2));
}

TEST_CASE("likes and unlikes never share a unit") {
  Stage stage;
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.Unlike(2, 10);
  stage.lane->Pump();
  CHECK(stage.LastRows() == 1);
  stage.connection->Commit({{true, 1, 5}});
  REQUIRE(stage.connection->sent.size() == 2);
  CHECK(stage.connection->sent[0][0].statement != stage.connection->sent[1][0].statement);
}

TEST_CASE("a deadlock is tried again, and ends as not applied when it was tried too often") {
  Stage stage;
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.lane->Pump();
  SECTION("once") {
    stage.connection->Fail("40P01");
    CHECK(stage.results.empty());
    REQUIRE(stage.connection->sent.size() == 2);
    stage.connection->Commit({{true, 1, 5}});
    CHECK(stage.results.at(0)->changed);
  }
  SECTION("for ever") {
    for (int i = 0; i < 100 && stage.results.empty(); ++i) stage.connection->Fail("40P01");
    REQUIRE(stage.results.size() == 1);
    CHECK(IsNotApplied(stage.results.at(0).status()));
    CHECK(ReasonOf(stage.results.at(0).status()) == ErrorReason::kStoreUnavailable);
  }
}

TEST_CASE("a row that is refused fails alone") {
  Stage stage;
  stage.connection->Accept();
  for (int64_t user = 1; user <= 8; ++user) stage.Like(user, 10);
  stage.lane->Pump();
  int units = 0;
  while (stage.connection->open() > 0 && ++units < 100) {
    const size_t answered = stage.connection->sent.size() - stage.connection->open();
    const auto users = *DecodeIntArray(stage.connection->sent[answered][0].parameters[1]);
    if (std::find(users.begin(), users.end(), 5) != users.end()) {
      stage.connection->Fail("23514");
    } else {
      stage.connection->Commit(std::vector<Applied>(users.size(), Applied{true, 1, 1}));
    }
  }
  REQUIRE(stage.results.size() == 8);
  for (int i = 0; i < 8; ++i) CHECK(stage.results.at(i).ok() == (i != 4));
  CHECK(IsNotApplied(stage.results.at(4).status()));
}

TEST_CASE("a link lost before the answer: unknown, not run again; what was behind it runs again") {
  Stage stage(1, 2);
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.Like(2, 10);
  stage.lane->Pump();
  REQUIRE(stage.connection->open() == 2);
  const auto old = stage.connection;
  old->Break(UnitFate::kUnknown);
  REQUIRE(stage.results.size() == 1);
  CHECK_FALSE(IsNotApplied(stage.results.at(0).status()));
  CHECK(ReasonOf(stage.results.at(0).status()) == ErrorReason::kStoreUnavailable);
  stage.Run();
  REQUIRE(stage.connection != old);
  stage.connection->Accept();
  REQUIRE(stage.connection->sent.size() == 1);
  stage.connection->Commit({{true, 2, 6}});
  CHECK(stage.results.at(1).ok());
}

TEST_CASE("a link lost with a server's word that the unit was rolled back: it runs again") {
  Stage stage;
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.lane->Pump();
  const auto old = stage.connection;
  old->Break(UnitFate::kRolledBack);
  CHECK(stage.results.empty());
  stage.Run();
  REQUIRE(stage.connection != old);
  stage.connection->Accept();
  stage.connection->Commit({{true, 1, 5}});
  CHECK(stage.results.at(0)->changed);
}

TEST_CASE("a server that has become read-only is left, and the unit goes to the next connection") {
  Stage stage;
  stage.connection->Accept();
  stage.Like(1, 10);
  stage.lane->Pump();
  const auto old = stage.connection;
  old->Fail("25006");
  CHECK(old->closed);
  stage.Run();
  REQUIRE(stage.connection != old);
  stage.connection->Accept();
  CHECK(stage.connection->open() == 1);
  CHECK(stage.results.empty());
}

TEST_CASE("while the link is down, what waits can be ended as not applied") {
  Stage stage;
  stage.Like(1, 10);
  absl::Status gone = MakeError(ErrorReason::kStoreUnavailable, "gone");
  MarkNotApplied(gone);
  stage.lane->FailWaiting(gone);
  CHECK(IsNotApplied(stage.results.at(0).status()));
  CHECK(stage.lane->mutations() == 0);
}

TEST_CASE("acknowledged outbox rows go with the next unit, and again if that was not committed") {
  Stage stage;
  stage.connection->Accept();
  stage.lane->Acknowledge({41});
  stage.Like(1, 10);
  stage.lane->Pump();
  const auto acknowledged = [&] {
    return *DecodeIntArray(stage.connection->sent.back()[0].parameters[5]);
  };
  CHECK(acknowledged() == std::vector<int64_t>{41});
  stage.connection->Fail("40001");
  CHECK(acknowledged() == std::vector<int64_t>{41});
  stage.connection->Commit({{true, 1, 5}});
  stage.Like(2, 10);
  stage.lane->Pump();
  CHECK(acknowledged().empty());
}

TEST_CASE("a row that is acknowledged after a failover does not delete another one of its number") {
  Stage stage;
  stage.connection->Accept();
  const auto acknowledged = [&] {
    return *DecodeIntArray(stage.connection->sent.back()[0].parameters[5]);
  };
  const OutboxRow former = {41, 0, 0};
  stage.lane->Acknowledge(former);
  stage.Like(1, 10);
  stage.lane->Pump();
  stage.lane->BeginHistory();
  // What the unit in flight was to delete is not to be deleted again, and neither is what comes.
  stage.connection->Fail("40001");
  CHECK(acknowledged().empty());
  stage.lane->Acknowledge(former);
  stage.connection->Commit({{true, 1, 5}}, 41);
  stage.lane->Acknowledge({41, 0, 1});
  stage.Like(2, 10);
  stage.lane->Pump();
  CHECK(acknowledged() == std::vector<int64_t>{41});
}

TEST_CASE(
    "a unit's judgement follows from its fate first, and from the error only if it is certain") {
  const ServerError deadlock{"40P01", false, ""};
  CHECK(JudgeUnit(UnitFate::kUnknown, deadlock, 5).failure == UnitFailure::kFinal);
  CHECK_FALSE(IsNotApplied(JudgeUnit(UnitFate::kUnknown, deadlock, 5).error));
  CHECK(JudgeUnit(UnitFate::kNotRun, deadlock, 5).failure == UnitFailure::kNotSent);
  CHECK(JudgeUnit(UnitFate::kRolledBack, deadlock, 5).failure == UnitFailure::kRetryable);
  const ServerError lock{"55P03", false, ""};
  CHECK(JudgeUnit(UnitFate::kRolledBack, lock, 5).failure == UnitFailure::kRejected);
  CHECK(JudgeUnit(UnitFate::kRolledBack, lock, 1).failure == UnitFailure::kRetryable);
  const ServerError full{"53100", false, ""};
  CHECK(JudgeUnit(UnitFate::kRolledBack, full, 5).failure == UnitFailure::kFinal);
  CHECK(IsNotApplied(JudgeUnit(UnitFate::kRolledBack, full, 5).error));
}

}  // namespace
}  // namespace counter::postgres
