#include "storage/postgres/driver.h"

#include <postgresql/libpq-fe.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"

namespace counter::postgres {
namespace {

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

// An error without a code was made by the driver.
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

Driver::Answer AnswerOf(const PGresult* result) {
  using Got = PipelineLedger::Got;
  Driver::Answer answer;
  if (result == nullptr) return answer;
  switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      answer.got = Got::kRows;
      answer.table = TableOf(result);
      break;
    case PGRES_PIPELINE_SYNC:
      answer.got = Got::kSync;
      break;
    case PGRES_PIPELINE_ABORTED:
      answer.got = Got::kAborted;
      break;
    default:
      answer.error = ErrorOf(result);
      answer.got = answer.error.fatal ? Got::kFatalError : Got::kError;
      answer.link_lost = answer.error.sqlstate.empty();
  }
  return answer;
}

std::vector<Oid> TypesOf(const Statement& statement) {
  std::vector<Oid> types;
  for (const TypeId type : statement.parameters) types.push_back(static_cast<Oid>(type));
  return types;
}

// A commit whose wait for the standby was cut short succeeds with a warning.
void OnNotice(void* unconfirmed, const PGresult* result) {
  const char* function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
  if (function != nullptr && absl::string_view(function) == "SyncRepWaitForLSN")
    (*static_cast<const std::function<void()>*>(unconfirmed))();
}

}  // namespace

struct Driver::Link {
  explicit Link(PGconn* connection_) : connection(connection_) {}
  ~Link() { PQfinish(connection); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  PGconn* const connection;
};

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

absl::StatusOr<Driver::Parameters> Driver::Parse(const std::string& conninfo) {
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

Driver::Driver(std::function<void()> unconfirmed) : unconfirmed_(std::move(unconfirmed)) {}
Driver::~Driver() = default;

bool Driver::Start(const Parameters& parameters) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  link_ = std::make_unique<Link>(PQconnectStartParams(names.data(), values.data(), 0));
  if (broken()) return false;
  PQsetNoticeReceiver(link_->connection, &OnNotice,
                      const_cast<std::function<void()>*>(&unconfirmed_));
  PQsetErrorVerbosity(link_->connection, PQERRORS_VERBOSE);
  return true;
}

Driver::Progress Driver::Poll() {
  switch (PQconnectPoll(link_->connection)) {
    case PGRES_POLLING_OK:
      return Progress::kConnected;
    case PGRES_POLLING_READING:
      return Progress::kWaitToRead;
    case PGRES_POLLING_FAILED:
      return Progress::kFailed;
    default:
      return Progress::kWaitToWrite;
  }
}

bool Driver::EnterPipeline() {
  return PQsetnonblocking(link_->connection, 1) == 0 && PQenterPipelineMode(link_->connection) == 1;
}

int Driver::socket() const { return PQsocket(link_->connection); }
int Driver::backend_pid() const { return PQbackendPID(link_->connection); }
// libpq takes no connection, as it gives one when it is out of memory, for a broken one.
bool Driver::broken() const { return PQstatus(link_->connection) == CONNECTION_BAD; }

ServerError Driver::Error() const {
  return DriverError(link_->connection == nullptr ? "out of memory"
                                                  : PQerrorMessage(link_->connection));
}

bool Driver::Prepare(const Statement& statement) {
  const std::vector<Oid> types = TypesOf(statement);
  return PQsendPrepare(link_->connection, statement.name, statement.sql,
                       static_cast<int>(types.size()), types.data()) == 1;
}

bool Driver::Put(const StatementCall& call, bool by_name) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(call.parameters.size(), 1);
  for (const std::string& parameter : call.parameters) {
    values.push_back(parameter.data());
    lengths.push_back(static_cast<int>(parameter.size()));
  }
  const int count = static_cast<int>(values.size());
  if (by_name) {
    return PQsendQueryPrepared(link_->connection, call.statement->name, count, values.data(),
                               lengths.data(), formats.data(), 1) == 1;
  }
  return PQsendQueryParams(link_->connection, call.statement->sql, count,
                           TypesOf(*call.statement).data(), values.data(), lengths.data(),
                           formats.data(), 1) == 1;
}

bool Driver::PutSync() { return PQpipelineSync(link_->connection) == 1; }

Driver::Flushed Driver::Flush() {
  const int left = PQflush(link_->connection);
  if (left == 0) return Flushed::kAll;
  return left > 0 ? Flushed::kWaitToWrite : Flushed::kFailed;
}

bool Driver::Receive() { return PQconsumeInput(link_->connection) == 1; }

std::optional<Driver::Answer> Driver::Take() {
  // PQgetResult would block if PQisBusy.
  if (PQisBusy(link_->connection) != 0) return std::nullopt;
  const Result result(PQgetResult(link_->connection));
  if (result == nullptr && broken()) return std::nullopt;
  return AnswerOf(result.get());
}

void Driver::Close() { link_.reset(); }

}  // namespace counter::postgres
