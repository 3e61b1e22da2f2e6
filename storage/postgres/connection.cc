#include "storage/postgres/connection.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/postgres/connect_parameters.h"
#include "storage/postgres/driver.h"
#include "storage/postgres/hosts.h"
#include "storage/postgres/session_statements.h"

namespace counter::postgres {
namespace {

namespace asio = boost::asio;

// Of looking up all names; shorter than any attempt to connect.
constexpr absl::Duration kNamePatience = absl::Seconds(1);

class PipelinedConnection final : public Connection,
                                  public std::enable_shared_from_this<PipelinedConnection> {
 public:
  PipelinedConnection(asio::io_context& loop, ConnectionOptions options)
      : loop_(loop),
        options_(std::move(options)),
        pooled_(options_.pooled),
        resolver_(loop),
        driver_([this] {
          if (options_.replicated) sent_.Unconfirmed();
        }),
        socket_(loop) {}
  ~PipelinedConnection() override { Finish(); }

  void Connect(ConnectDone done, Lost lost) override;
  void Send(std::vector<StatementCall> calls, UnitDone done) override;
  void Close() override;
  bool pooled() const override { return pooled_; }
  MonotonicTime heard() const override { return heard_; }

 private:
  enum class Phase { kNew, kConnecting, kAsking, kReady, kClosed };

  // Connecting.
  void Start();
  void PollConnect();
  void Connected();
  void AskSession();
  void AskSchema();
  void Prepare();
  void EndConnect(std::optional<ServerError> error);

  // Sending and receiving.
  void WaitReadable();
  void OnReadable();
  void Flush();
  void TakeResults();
  void BreakLater(ServerError error);
  void Break(const ServerError& error);
  void Finish();

  asio::io_context& loop_;
  const ConnectionOptions options_;
  bool pooled_;
  Phase phase_ = Phase::kNew;
  ConnectDone connect_done_;
  Lost lost_;
  SessionFacts facts_;

  asio::ip::tcp::resolver resolver_;
  ConnectParameters parameters_;

  Driver driver_;
  asio::posix::stream_descriptor socket_;  // Borrows the driver's socket: released, never closed.
  bool reading_ = false;
  bool writing_ = false;
  bool breaking_ = false;  // Nothing more is sent or taken.
  MonotonicTime heard_ = Clock::System().MonotonicNow();

  SentUnits sent_;
};

// ---- Connecting.

void PipelinedConnection::Connect(ConnectDone done, Lost lost) {
  phase_ = Phase::kConnecting;
  connect_done_ = std::move(done);
  lost_ = std::move(lost);
  absl::StatusOr<ConnectParameters> parameters = Driver::Parse(options_.conninfo);
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
  FindHosts(resolver_, host, parameters_["port"], kNamePatience,
            [self = shared_from_this()](absl::StatusOr<Hosts> hosts) {
              if (self->phase_ != Phase::kConnecting) return;
              if (!hosts.ok()) {
                self->EndConnect(DriverError(hosts.status().message()));
                return;
              }
              self->parameters_["host"] = std::move(hosts->names);
              self->parameters_["hostaddr"] = std::move(hosts->addresses);
              self->parameters_["port"] = std::move(hosts->ports);
              self->Start();
            });
}

void PipelinedConnection::Start() {
  if (phase_ != Phase::kConnecting) return;
  StartWithHost(options_.first_host, parameters_);
  AddParameters(options_, parameters_);
  if (!driver_.Start(parameters_)) {
    EndConnect(driver_.Error());
    return;
  }
  socket_.assign(driver_.socket());
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->PollConnect();
                     });
}

void PipelinedConnection::PollConnect() {
  if (phase_ != Phase::kConnecting) return;
  // The driver may close this socket and open another: the loop must have let go of it before.
  socket_.release();
  const Driver::Progress progress = driver_.Poll();
  if (progress == Driver::Progress::kFailed) {
    EndConnect(driver_.Error());
    return;
  }
  socket_.assign(driver_.socket());
  if (progress == Driver::Progress::kConnected) {
    Connected();
    return;
  }
  socket_.async_wait(progress == Driver::Progress::kWaitToRead
                         ? asio::posix::stream_descriptor::wait_read
                         : asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error) self->PollConnect();
                     });
}

void PipelinedConnection::Connected() {
  heard_ = Clock::System().MonotonicNow();
  if (!driver_.EnterPipeline()) {
    EndConnect(driver_.Error());
    return;
  }
  phase_ = Phase::kAsking;
  WaitReadable();
  AskSession();
}

void PipelinedConnection::AskSession() {
  Send({postgres::AskSession()}, [self = shared_from_this()](UnitReply reply) {
    if (reply.fate != UnitFate::kCommitted) {
      self->EndConnect(reply.error);
      return;
    }
    const absl::Status decoded =
        DecodeSession(reply.tables[0], self->driver_.backend_pid(), self->facts_);
    if (!decoded.ok()) {
      self->EndConnect(DriverError(decoded.message()));
      return;
    }
    self->pooled_ = self->pooled_ || BehindPooler(self->facts_);
    self->AskSchema();
  });
}

void PipelinedConnection::AskSchema() {
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
    if (self->pooled_ || self->options_.statements.empty() || !self->facts_.migrated) {
      self->EndConnect(std::nullopt);
    } else {
      self->Prepare();
    }
  });
}

void PipelinedConnection::Prepare() {
  bool put = true;
  for (const Statement* statement : options_.statements) put = put && driver_.Prepare(*statement);
  if (!put || !driver_.PutSync()) {
    EndConnect(driver_.Error());
    return;
  }
  sent_.Add(static_cast<int>(options_.statements.size()), 0,
            [self = shared_from_this()](const UnitReply& reply) {
              if (reply.fate == UnitFate::kCommitted) {
                self->EndConnect(std::nullopt);
              } else {
                self->EndConnect(reply.error);
              }
            });
  Flush();
}

void PipelinedConnection::EndConnect(std::optional<ServerError> error) {
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

void PipelinedConnection::Send(std::vector<StatementCall> calls, UnitDone done) {
  if (breaking_ || (phase_ != Phase::kAsking && phase_ != Phase::kReady)) {
    asio::post(loop_, [done = std::move(done)]() mutable {
      UnitReply reply;
      reply.fate = UnitFate::kNotRun;
      reply.error = DriverError("not connected");
      done(std::move(reply));
    });
    return;
  }
  size_t tables_dropped = 0;
  if (pooled_) {
    calls.insert(calls.begin(),
                 SetForTransaction(options_.statement_timeout, options_.lock_timeout));
    tables_dropped = 1;
  }
  // While it asks the session about itself nothing is prepared yet.
  const bool prepared = !pooled_ && phase_ == Phase::kReady;
  bool put = true;
  for (const StatementCall& call : calls)
    put = put && driver_.Put(call, prepared && call.statement->prepared);
  put = put && driver_.PutSync();
  sent_.Add(static_cast<int>(calls.size()), tables_dropped, std::move(done));
  if (put) {
    Flush();
    return;
  }
  // The driver is out of step with the ledger now.
  BreakLater(driver_.Error());
}

void PipelinedConnection::WaitReadable() {
  if (reading_) return;
  reading_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->reading_ = false;
                       if (!error) self->OnReadable();
                     });
}

void PipelinedConnection::OnReadable() {
  if (!driver_.open()) return;
  const bool alive = driver_.Receive();
  heard_ = Clock::System().MonotonicNow();
  // Results, and the reason of an end, may have come before the end.
  TakeResults();
  if (!driver_.open()) return;
  if (!alive || driver_.broken()) {
    Break(driver_.Error());
    return;
  }
  Flush();
  if (driver_.open()) WaitReadable();
}

void PipelinedConnection::Flush() {
  // If it failed, what the server said before it went is still to be read: the read wait will find
  // the end.
  if (driver_.Flush() != Driver::Flushed::kWaitToWrite || writing_) return;
  writing_ = true;
  socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->writing_ = false;
                       if (!error && self->driver_.open()) self->Flush();
                     });
}

void PipelinedConnection::TakeResults() {
  std::vector<SentUnits::Ended> ended;
  while (!breaking_ && sent_.expecting()) {
    std::optional<Driver::Answer> answer = driver_.Take();
    if (!answer.has_value()) break;
    if (answer->link_lost) {
      BreakLater(std::move(answer->error));
    } else if (!sent_.Take(answer->got, std::move(answer->table), std::move(answer->error),
                           ended)) {
      BreakLater(DriverError("the connection answered out of order"));
    }
  }
  for (SentUnits::Ended& unit : ended) unit.done(std::move(unit.reply));
}

// ---- The end.

// For where callbacks must not run: inside a call that took one, or while results are taken.
void PipelinedConnection::BreakLater(ServerError error) {
  if (std::exchange(breaking_, true)) return;
  asio::post(loop_, [self = shared_from_this(), error = std::move(error)] { self->Break(error); });
}

void PipelinedConnection::Break(const ServerError& error) {
  if (phase_ == Phase::kClosed) return;
  breaking_ = true;
  phase_ = Phase::kClosed;
  std::vector<SentUnits::Ended> units = sent_.LinkLost(error);
  Lost lost = std::exchange(lost_, Lost());
  Finish();
  for (SentUnits::Ended& unit : units) unit.done(std::move(unit.reply));
  if (connect_done_) {
    EndConnect(error);
  } else if (lost) {
    lost(error);
  }
}

void PipelinedConnection::Close() {
  lost_ = Lost();
  resolver_.cancel();
  if (phase_ == Phase::kNew) phase_ = Phase::kClosed;
  if (phase_ != Phase::kClosed) BreakLater(DriverError("closed"));
}

void PipelinedConnection::Finish() {
  if (socket_.is_open()) socket_.release();
  driver_.Close();
}

}  // namespace

bool NamesSeveralHosts(const std::string& conninfo) {
  const absl::StatusOr<ConnectParameters> parameters = Driver::Parse(conninfo);
  return parameters.ok() && SeveralHosts(*parameters);
}

std::shared_ptr<Connection> Connection::Make(asio::io_context& loop, ConnectionOptions options) {
  return std::make_shared<PipelinedConnection>(loop, std::move(options));
}

}  // namespace counter::postgres
