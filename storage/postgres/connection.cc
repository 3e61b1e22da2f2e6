#include "storage/postgres/connection.h"

#include <postgresql/libpq-fe.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}
std::string Seconds(absl::Duration duration) {
  return absl::StrCat(std::max<int64_t>(1, absl::ToInt64Seconds(duration)));
}

// The driver gives the code of an error of the start only inside its text.
ServerError DriverError(absl::string_view message) {
  ServerError error;
  error.fatal = true;
  error.sqlstate = SqlstateInText(message);
  // The lines after the first are advice, and places in the server's source.
  const absl::string_view text = absl::StripAsciiWhitespace(message);
  error.message = std::string(text.substr(0, text.find('\n')));
  return error;
}

// An error without a code was made by the driver: the link is lost.
ServerError ErrorOf(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  ServerError error;
  error.message = primary != nullptr ? primary : PQresultErrorMessage(result);
  if (sqlstate != nullptr) error.sqlstate = sqlstate;
  error.fatal = severity == nullptr || absl::string_view(severity) != "ERROR";
  return error;
}

Table TableOf(const PGresult* result) {
  const int columns = PQnfields(result);
  Table table(columns);
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < columns; ++column) {
      if (PQgetisnull(result, row, column) != 0) {
        table.AddNull();
      } else {
        table.Add(absl::string_view(PQgetvalue(result, row, column),
                                    static_cast<size_t>(PQgetlength(result, row, column))));
      }
    }
  }
  return table;
}

// The driver's parameters, by name.
using Parameters = std::map<std::string, std::string>;

absl::StatusOr<Parameters> ParseConninfo(const std::string& conninfo) {
  char* message = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(conninfo.c_str(), &message);
  if (parsed == nullptr) {
    // The driver's message may quote the password.
    PQfreemem(message);
    return absl::InvalidArgumentError("the database's URL cannot be read");
  }
  Parameters parameters;
  for (const PQconninfoOption* option = parsed; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) parameters[option->keyword] = option->val;
  }
  PQconninfoFree(parsed);
  return parameters;
}

bool NeedsResolving(const std::string& host) {
  return !host.empty() && host[0] != '/' && host[0] != '@';
}

class PqConnection final : public Connection, public std::enable_shared_from_this<PqConnection> {
 public:
  PqConnection(asio::io_context& loop, ConnectionOptions options)
      : loop_(loop),
        options_(std::move(options)),
        pooled_(options_.pooled),
        resolver_(loop),
        socket_(loop) {}
  ~PqConnection() override { Finish(); }

  void Connect(ConnectDone done, Lost lost) override;
  void Send(std::vector<StatementCall> calls, UnitDone done) override;
  void Close() override;
  bool pooled() const override { return pooled_; }
  MonotonicTime heard() const override { return heard_; }

 private:
  enum class Phase { kNew, kConnecting, kAsking, kReady, kClosed };

  // A unit that was sent and is not over; in the ledger's order.
  struct Sent {
    PipelineLedger::UnitNumber number = 0;
    size_t tables_dropped = 0;  // Leading results that are not the sender's.
    UnitReply reply;
    bool doubtful = false;  // The standby did not confirm.
    UnitDone done;
  };
  using Ended = std::vector<std::pair<UnitDone, UnitReply>>;

  // Connecting.
  void ResolveNext();
  void Start();
  void PollConnect();
  void Connected();
  void AskSession();
  void AskSchema();
  void Prepare();
  void EndConnect(std::optional<ServerError> error);
  std::string StartOptions() const;

  // Sending and receiving.
  bool Put(const StatementCall& call);
  void WaitReadable();
  void OnReadable();
  void Flush();
  void TakeResults();
  void TakeResult(const PGresult* result, Ended& ended);
  void BreakLater(ServerError error);
  void Break(const ServerError& error);
  void Finish();
  static void OnNotice(void* self, const PGresult* result);

  asio::io_context& loop_;
  const ConnectionOptions options_;
  bool pooled_;
  Phase phase_ = Phase::kNew;
  ConnectDone connect_done_;
  Lost lost_;
  SessionFacts facts_;

  asio::ip::tcp::resolver resolver_;
  Parameters parameters_;
  std::vector<std::string> hosts_to_resolve_;  // Those after the one at hand, last first.
  std::vector<std::string> ports_to_resolve_;
  std::vector<std::string> hosts_;  // What the driver is given, with addresses_ and ports_.
  std::vector<std::string> addresses_;
  std::vector<std::string> ports_;

  PGconn* driver_ = nullptr;
  asio::posix::stream_descriptor socket_;  // Borrows the driver's socket: released, never closed.
  bool reading_ = false;
  bool writing_ = false;
  bool breaking_ = false;  // Nothing more is sent or taken.
  MonotonicTime heard_ = Clock::System().MonotonicNow();

  PipelineLedger ledger_;
  std::deque<Sent> sent_;
};

// ---- Connecting.

void PqConnection::Connect(ConnectDone done, Lost lost) {
  phase_ = Phase::kConnecting;
  connect_done_ = std::move(done);
  lost_ = std::move(lost);
  absl::StatusOr<Parameters> parameters = ParseConninfo(options_.conninfo);
  if (!parameters.ok()) {
    asio::post(loop_, [self = shared_from_this(), status = parameters.status()] {
      self->EndConnect(DriverError(status.message()));
    });
    return;
  }
  parameters_ = *std::move(parameters);
  const std::string host = parameters_["host"];
  if (!parameters_["hostaddr"].empty() || host.empty()) {
    asio::post(loop_, [self = shared_from_this()] { self->Start(); });
    return;
  }
  hosts_to_resolve_ = absl::StrSplit(host, ',');
  ports_to_resolve_ = absl::StrSplit(parameters_["port"], ',');
  // One port is for all hosts.
  ports_to_resolve_.resize(hosts_to_resolve_.size(), ports_to_resolve_.front());
  std::reverse(hosts_to_resolve_.begin(), hosts_to_resolve_.end());
  std::reverse(ports_to_resolve_.begin(), ports_to_resolve_.end());
  asio::post(loop_, [self = shared_from_this()] { self->ResolveNext(); });
}

// The driver would resolve names itself, and the whole loop would wait for the name server.
void PqConnection::ResolveNext() {
  if (phase_ != Phase::kConnecting) return;
  if (hosts_to_resolve_.empty()) {
    if (hosts_.empty()) {
      EndConnect(DriverError("the database's host name cannot be resolved"));
      return;
    }
    parameters_["host"] = absl::StrJoin(hosts_, ",");
    parameters_["hostaddr"] = absl::StrJoin(addresses_, ",");
    parameters_["port"] = absl::StrJoin(ports_, ",");
    Start();
    return;
  }
  const std::string host = hosts_to_resolve_.back();
  const std::string port = ports_to_resolve_.back();
  hosts_to_resolve_.pop_back();
  ports_to_resolve_.pop_back();
  if (!NeedsResolving(host)) {
    hosts_.push_back(host);
    addresses_.emplace_back();
    ports_.push_back(port);
    ResolveNext();
    return;
  }
  resolver_.async_resolve(
      host, port.empty() ? "5432" : port,
      [self = shared_from_this(), host, port](const boost::system::error_code& error,
                                              const asio::ip::tcp::resolver::results_type& found) {
        if (!error) {
          for (const auto& entry : found) {
            self->hosts_.push_back(host);
            self->addresses_.push_back(entry.endpoint().address().to_string());
            self->ports_.push_back(port);
          }
        }
        self->ResolveNext();
      });
}

std::string PqConnection::StartOptions() const {
  return absl::StrCat(
      "-c synchronous_commit=on -c plan_cache_mode=force_generic_plan",
      " -c enable_seqscan=off -c jit=off",
      " -c statement_timeout=", Milliseconds(options_.statement_timeout),
      " -c lock_timeout=", Milliseconds(options_.lock_timeout),
      " -c idle_in_transaction_session_timeout=", Milliseconds(options_.statement_timeout));
}

void PqConnection::Start() {
  if (phase_ != Phase::kConnecting) return;
  if (!pooled_) {
    std::string& options = parameters_["options"];
    options = absl::StrCat(StartOptions(), options.empty() ? "" : " ", options);
  }
  parameters_["application_name"] = options_.application_name;
  parameters_["keepalives_idle"] = Seconds(options_.tcp_timeout);
  parameters_["keepalives_interval"] = "1";
  parameters_["keepalives_count"] = Seconds(options_.tcp_timeout);
  parameters_["tcp_user_timeout"] = Milliseconds(options_.tcp_timeout);
  // Kerberos look-ups may block.
  parameters_.emplace("gssencmode", "disable");
  if (absl::StrContains(parameters_["host"], ','))
    parameters_.emplace("target_session_attrs", "read-write");
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters_) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  driver_ = PQconnectStartParams(names.data(), values.data(), 0);
  if (driver_ == nullptr || PQstatus(driver_) == CONNECTION_BAD) {
    EndConnect(DriverError(driver_ == nullptr ? "out of memory" : PQerrorMessage(driver_)));
    return;
  }
  PQsetNoticeReceiver(driver_, &PqConnection::OnNotice, this);
  PQsetErrorVerbosity(driver_, PQERRORS_VERBOSE);
  socket_.assign(PQsocket(driver_));
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->PollConnect();
                     });
}

void PqConnection::PollConnect() {
  if (phase_ != Phase::kConnecting) return;
  // The driver may close this socket and open another: the loop must have let go of it before.
  socket_.release();
  const PostgresPollingStatusType polled = PQconnectPoll(driver_);
  if (polled == PGRES_POLLING_FAILED) {
    EndConnect(DriverError(PQerrorMessage(driver_)));
    return;
  }
  socket_.assign(PQsocket(driver_));
  if (polled == PGRES_POLLING_OK) {
    Connected();
    return;
  }
  socket_.async_wait(polled == PGRES_POLLING_READING ? asio::posix::stream_descriptor::wait_read
                                                     : asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->PollConnect();
                     });
}

void PqConnection::Connected() {
  heard_ = Clock::System().MonotonicNow();
  if (PQsetnonblocking(driver_, 1) != 0 || PQenterPipelineMode(driver_) != 1) {
    EndConnect(DriverError(PQerrorMessage(driver_)));
    return;
  }
  phase_ = Phase::kAsking;
  WaitReadable();
  AskSession();
}

void PqConnection::AskSession() {
  Send({postgres::AskSession()}, [self = shared_from_this()](UnitReply reply) {
    if (reply.fate != UnitFate::kCommitted) {
      self->EndConnect(reply.error);
      return;
    }
    const absl::Status decoded =
        DecodeSession(reply.tables[0], PQbackendPID(self->driver_), self->facts_);
    if (!decoded.ok()) {
      self->EndConnect(DriverError(decoded.message()));
      return;
    }
    self->pooled_ = self->pooled_ || BehindPooler(self->facts_);
    self->AskSchema();
  });
}

void PqConnection::AskSchema() {
  Send({postgres::AskSchema()}, [self = shared_from_this()](UnitReply reply) {
    if (reply.fate == UnitFate::kCommitted) {
      const absl::Status decoded = DecodeSchema(reply.tables[0], self->facts_);
      if (!decoded.ok()) {
        self->EndConnect(DriverError(decoded.message()));
        return;
      }
    } else if (Classify(reply.error) != ErrorClass::kMisfit) {
      self->EndConnect(reply.error);
      return;
    }
    // A misfit: a database without our tables, in which nothing can be prepared.
    if (self->pooled_ || !self->options_.prepare || !self->facts_.migrated) {
      self->EndConnect(std::nullopt);
    } else {
      self->Prepare();
    }
  });
}

void PqConnection::Prepare() {
  for (const Statement* statement : PreparedStatements()) {
    std::vector<Oid> types;
    for (const TypeId type : statement->parameters) types.push_back(static_cast<Oid>(type));
    if (PQsendPrepare(driver_, statement->name, statement->sql, static_cast<int>(types.size()),
                      types.data()) != 1) {
      EndConnect(DriverError(PQerrorMessage(driver_)));
      return;
    }
  }
  if (PQpipelineSync(driver_) != 1) {
    EndConnect(DriverError(PQerrorMessage(driver_)));
    return;
  }
  Sent unit;
  unit.number = ledger_.Sent(static_cast<int>(PreparedStatements().size()));
  unit.done = [self = shared_from_this()](const UnitReply& reply) {
    if (reply.fate == UnitFate::kCommitted) {
      self->EndConnect(std::nullopt);
    } else {
      self->EndConnect(reply.error);
    }
  };
  sent_.push_back(std::move(unit));
  Flush();
}

void PqConnection::EndConnect(std::optional<ServerError> error) {
  if (!connect_done_) return;
  if (error.has_value()) {
    phase_ = Phase::kClosed;
    Finish();
  } else {
    phase_ = Phase::kReady;
  }
  ConnectReply reply;
  reply.error = std::move(error);
  reply.facts = facts_;
  ConnectDone done = std::exchange(connect_done_, ConnectDone());
  done(std::move(reply));
}

// ---- Sending and receiving.

bool PqConnection::Put(const StatementCall& call) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats(call.parameters.size(), 1);
  for (const std::string& parameter : call.parameters) {
    values.push_back(parameter.data());
    lengths.push_back(static_cast<int>(parameter.size()));
  }
  const int count = static_cast<int>(values.size());
  // While it asks the session about itself nothing is prepared yet.
  if (!pooled_ && phase_ == Phase::kReady && call.statement->prepared) {
    return PQsendQueryPrepared(driver_, call.statement->name, count, values.data(), lengths.data(),
                               formats.data(), 1) == 1;
  }
  std::vector<Oid> types;
  for (const TypeId type : call.statement->parameters) types.push_back(static_cast<Oid>(type));
  return PQsendQueryParams(driver_, call.statement->sql, count, types.data(), values.data(),
                           lengths.data(), formats.data(), 1) == 1;
}

void PqConnection::Send(std::vector<StatementCall> calls, UnitDone done) {
  if (breaking_ || (phase_ != Phase::kAsking && phase_ != Phase::kReady)) {
    asio::post(loop_, [done = std::move(done)]() mutable {
      UnitReply reply;
      reply.fate = UnitFate::kNotRun;
      reply.error = DriverError("not connected");
      done(std::move(reply));
    });
    return;
  }
  Sent unit;
  if (pooled_) {
    calls.insert(calls.begin(),
                 SetForTransaction(options_.statement_timeout, options_.lock_timeout));
    unit.tables_dropped = 1;
  }
  bool put = true;
  for (const StatementCall& call : calls) put = put && Put(call);
  put = put && PQpipelineSync(driver_) == 1;
  unit.number = ledger_.Sent(static_cast<int>(calls.size()));
  unit.done = std::move(done);
  sent_.push_back(std::move(unit));
  if (put) {
    Flush();
    return;
  }
  // The driver is out of step with the ledger now.
  BreakLater(DriverError(PQerrorMessage(driver_)));
}

void PqConnection::WaitReadable() {
  if (reading_) return;
  reading_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->reading_ = false;
                       if (!error) self->OnReadable();
                     });
}

void PqConnection::OnReadable() {
  if (driver_ == nullptr) return;
  const bool alive = PQconsumeInput(driver_) == 1;
  heard_ = Clock::System().MonotonicNow();
  // Results, and the reason of an end, may have come before the end.
  TakeResults();
  if (driver_ == nullptr) return;
  if (!alive || PQstatus(driver_) == CONNECTION_BAD) {
    Break(DriverError(PQerrorMessage(driver_)));
    return;
  }
  Flush();
  if (driver_ != nullptr) WaitReadable();
}

void PqConnection::Flush() {
  const int left = PQflush(driver_);
  if (left == 0 || writing_) return;
  if (left < 0) {
    // What the server said before it went is still to be read: the read wait will find the end.
    return;
  }
  writing_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (!error && self->driver_ != nullptr) self->Flush();
                     });
}

void PqConnection::TakeResults() {
  Ended ended;
  // PQgetResult would block if PQisBusy.
  while (!breaking_ && ledger_.expecting() && PQisBusy(driver_) == 0) {
    const Result result(PQgetResult(driver_));
    if (result == nullptr && PQstatus(driver_) == CONNECTION_BAD) break;
    TakeResult(result.get(), ended);
  }
  for (auto& [done, reply] : ended) done(std::move(reply));
}

void PqConnection::TakeResult(const PGresult* result, Ended& ended) {
  using Got = PipelineLedger::Got;
  Got got = Got::kEndOfStatement;
  ServerError error;
  if (result != nullptr) {
    switch (PQresultStatus(result)) {
      case PGRES_TUPLES_OK:
      case PGRES_COMMAND_OK:
      case PGRES_EMPTY_QUERY:
        got = Got::kRows;
        break;
      case PGRES_PIPELINE_SYNC:
        got = Got::kSync;
        break;
      case PGRES_PIPELINE_ABORTED:
        got = Got::kAborted;
        break;
      default:
        error = ErrorOf(result);
        // Without a code it is the driver's own word, for a lost link: no word of the server.
        if (error.sqlstate.empty()) {
          BreakLater(std::move(error));
          return;
        }
        got = error.fatal ? Got::kFatalError : Got::kError;
    }
  }
  const PipelineLedger::Step step = ledger_.Take(got);
  using Kind = PipelineLedger::Step::Kind;
  switch (step.kind) {
    case Kind::kNothing:
      return;
    case Kind::kRows: {
      Sent& unit = sent_.front();
      if (static_cast<size_t>(step.statement) >= unit.tables_dropped)
        unit.reply.tables.push_back(TableOf(result));
      return;
    }
    case Kind::kError:
      sent_.front().reply.error = std::move(error);
      return;
    case Kind::kUnitEnded: {
      Sent unit = std::move(sent_.front());
      sent_.pop_front();
      unit.reply.fate = step.fate;
      if (step.fate == UnitFate::kCommitted && unit.doubtful) {
        unit.reply.fate = UnitFate::kUnknown;
        unit.reply.error = DriverError("the standby did not confirm the commit");
      }
      ended.emplace_back(std::move(unit.done), std::move(unit.reply));
      return;
    }
    case Kind::kConfused:
      BreakLater(DriverError("the connection answered out of order"));
      return;
  }
}

// A commit whose wait for the standby was cut short succeeds with a warning.
void PqConnection::OnNotice(void* self, const PGresult* result) {
  auto* connection = static_cast<PqConnection*>(self);
  const char* function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
  if (!connection->options_.replicated || function == nullptr || connection->sent_.empty()) return;
  if (absl::string_view(function) == "SyncRepWaitForLSN") connection->sent_.front().doubtful = true;
}

// ---- The end.

// For where callbacks must not run: inside a call that took one, or while results are taken.
void PqConnection::BreakLater(ServerError error) {
  if (std::exchange(breaking_, true)) return;
  asio::post(loop_, [self = shared_from_this(), error = std::move(error)] { self->Break(error); });
}

void PqConnection::Break(const ServerError& error) {
  if (phase_ == Phase::kClosed) return;
  breaking_ = true;
  phase_ = Phase::kClosed;
  std::map<PipelineLedger::UnitNumber, UnitFate> fates;
  for (const PipelineLedger::Lost& lost : ledger_.LinkLost()) fates[lost.unit] = lost.fate;
  std::deque<Sent> units = std::move(sent_);
  sent_.clear();
  Lost lost = std::exchange(lost_, Lost());
  Finish();
  for (Sent& unit : units) {
    unit.reply.fate = fates[unit.number];
    unit.reply.tables.clear();
    if (unit.reply.error.message.empty()) unit.reply.error = error;
    unit.done(std::move(unit.reply));
  }
  if (connect_done_) {
    EndConnect(error);
  } else if (lost) {
    lost(error);
  }
}

void PqConnection::Close() {
  lost_ = Lost();
  resolver_.cancel();
  if (phase_ == Phase::kNew) phase_ = Phase::kClosed;
  if (phase_ != Phase::kClosed) BreakLater(DriverError("closed"));
}

void PqConnection::Finish() {
  if (socket_.is_open()) socket_.release();
  if (driver_ != nullptr) PQfinish(std::exchange(driver_, nullptr));
}

}  // namespace

std::shared_ptr<Connection> Connection::Make(asio::io_context& loop, ConnectionOptions options) {
  return std::make_shared<PqConnection>(loop, std::move(options));
}

}  // namespace counter::postgres
