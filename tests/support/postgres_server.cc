#include "tests/support/postgres_server.h"

#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

// The account that servers run as when the test is root; absent if none is needed.
std::optional<passwd> Account() {
  if (geteuid() != 0) return std::nullopt;
  for (const char* name : {"postgres", "nobody"}) {
    const passwd* account = getpwnam(name);
    if (account != nullptr) return *account;
  }
  return std::nullopt;
}

void GiveToAccount(const std::string& path) {
  const std::optional<passwd> account = Account();
  if (account.has_value() && chown(path.c_str(), account->pw_uid, account->pw_gid) != 0)
    std::perror(path.c_str());
}

// A port that was free a moment ago; 0 if there is none.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

// A key that nobody else may read, or PostgreSQL refuses it.
void WriteKey(const std::string& path, const std::string& key) {
  WriteFile(path, key);
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) std::perror(path.c_str());
  GiveToAccount(path);
}

// Runs a program to its end; an error holds what it wrote.
absl::StatusOr<std::string> Run(std::vector<std::string> argv, absl::Duration deadline) {
  TempDir temp;
  Process::Options options;
  options.argv = std::move(argv);
  options.env = Process::BaseEnv();
  options.env["PGAPPNAME"] = "test";
  options.stdout_path = temp.File("out");
  options.stderr_path = temp.File("err");
  options.working_directory = "/";
  absl::StatusOr<Process> process = Process::Start(options);
  if (!process.ok()) return process.status();
  const std::optional<ExitStatus> exit = process->Wait(deadline);
  if (!exit.has_value() || exit->code != 0)
    return absl::InternalError(absl::StrCat(options.argv[0], ": ",
                                            exit.has_value() ? ToString(*exit) : "too slow", ": ",
                                            ReadFile(temp.File("err"))));
  std::string out = ReadFile(temp.File("out"));
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// State and parent of a process; absent if it has ended, even if nobody has collected it.
std::optional<pid_t> LivingParentOf(const std::string& proc_directory) {
  // "PID (name) state parent ...": a name may hold blanks and brackets, but the last one ends it.
  const std::string stat = ReadFile(proc_directory + "/stat");
  const size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(stat.substr(end_of_name + 2), ' ');
  pid_t parent = 0;
  if (words.size() < 2 || words[0] == "Z" || !absl::SimpleAtoi(words[1], &parent))
    return std::nullopt;
  return parent;
}

bool Lives(pid_t pid) { return LivingParentOf(absl::StrCat("/proc/", pid)).has_value(); }

// The process and its children.
std::vector<pid_t> Family(pid_t root) {
  std::vector<pid_t> found = {root};
  std::error_code error;
  // Processes go while they are looked at: the plain loop would throw.
  for (std::filesystem::directory_iterator entry("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->path().filename().string(), &pid) &&
        LivingParentOf(entry->path().string()) == root) {
      found.push_back(pid);
    }
  }
  return found;
}

}  // namespace

std::string FindPostgresProgram(const std::string& name) {
  for (const char* directory : {"/usr/lib/postgresql/15/bin/", "/usr/sbin/", "/usr/bin/"}) {
    std::string path = absl::StrCat(directory, name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::vector<std::string> AsServerAccount(std::vector<std::string> argv) {
  const std::optional<passwd> account = Account();
  if (!account.has_value()) return argv;
  // A change of the account forgets the signal at the parent's death, so it is asked for again.
  std::vector<std::string> as = {"setpriv",
                                 absl::StrCat("--reuid=", account->pw_uid),
                                 absl::StrCat("--regid=", account->pw_gid),
                                 "--clear-groups",
                                 "--pdeathsig=KILL",
                                 "--"};
  as.insert(as.end(), argv.begin(), argv.end());
  return as;
}

ServerDirectory::ServerDirectory(const std::string& parent)
    : path_(absl::StrCat(parent, "/counter-pg-XXXXXX")) {
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror(path_.c_str());
    std::abort();
  }
  GiveToAccount(path_);
}

ServerDirectory::~ServerDirectory() {
  std::error_code ignored;  // What cannot be removed is left to the machine.
  std::filesystem::remove_all(path_, ignored);
}

// ---- PostgresServer

PostgresServer::PostgresServer(Options options)
    : options_(std::move(options)), data_(options_.data_parent) {}

absl::StatusOr<std::unique_ptr<PostgresServer>> PostgresServer::Start(Options options) {
  if (FindPostgresProgram("initdb").empty())
    return absl::NotFoundError("PostgreSQL 15 is not installed: apt-get install postgresql-15");
  auto server = std::unique_ptr<PostgresServer>(new PostgresServer(std::move(options)));
  absl::Status status = server->Init();
  if (status.ok()) status = server->Restart();
  if (!status.ok()) return status;
  return server;
}

PostgresServer::~PostgresServer() {
  if (process_.has_value()) Kill9();
}

absl::Status PostgresServer::Init() {
  const absl::StatusOr<std::string> made =
      Run(AsServerAccount({FindPostgresProgram("initdb"), "-D", data_directory(), "-U", "postgres",
                           "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
                           "--no-instructions"}),
          absl::Seconds(60));
  if (!made.ok()) return made.status();
  if (!options_.certificate.empty()) {
    port_ = FreePort();
    WriteFile(directory_.path() + "/server.pem", options_.certificate);
    WriteKey(directory_.path() + "/server.key", options_.key);
    options_.settings["listen_addresses"] = "'127.0.0.1'";
    options_.settings["port"] = absl::StrCat(port_);
    options_.settings["ssl"] = "on";
    options_.settings["ssl_cert_file"] = absl::StrCat("'", directory_.path(), "/server.pem'");
    options_.settings["ssl_key_file"] = absl::StrCat("'", directory_.path(), "/server.key'");
  }
  WriteSettings();
  return absl::OkStatus();
}

void PostgresServer::WriteSettings() const {
  std::map<std::string, std::string> settings = {
      {"listen_addresses", "''"},
      {"unix_socket_directories", absl::StrCat("'", directory_.path(), "'")},
      {"max_connections", "200"},
      {"shared_buffers", "64MB"},
      {"log_line_prefix", "'%m [%p] %a %e '"},
      {"log_checkpoints", "off"},
      {"log_min_messages", "warning"},
  };
  for (const auto& [name, value] : options_.settings) settings[name] = value;
  std::string file;
  for (const auto& [name, value] : settings) absl::StrAppend(&file, name, " = ", value, "\n");
  const std::string path = data_directory() + "/postgresql.auto.conf";
  WriteFile(path, file);
}

absl::Status PostgresServer::Reload() const {
  // Of the postmaster, which hands the signal on to its children before it starts another one.
  const auto loaded_at = [this] { return Psql(Url(), "SELECT pg_conf_load_time()"); };
  const absl::StatusOr<std::string> before = loaded_at();
  if (!before.ok()) return before.status();
  if (const auto sent = Psql(Url(), "SELECT pg_reload_conf()"); !sent.ok()) return sent.status();
  const bool has_loaded = Eventually(absl::Seconds(20) * Slowness(), [&] {
    const absl::StatusOr<std::string> now = loaded_at();
    return now.ok() && *now != *before;
  });
  if (has_loaded) return absl::OkStatus();
  return absl::DeadlineExceededError("the settings were not read again");
}

void PostgresServer::Set(const std::string& name, const std::string& value) {
  options_.settings[name] = value;
  WriteSettings();
}

// ---- Standbys

absl::StatusOr<std::unique_ptr<PostgresServer>> PostgresServer::StartStandby(
    const PostgresServer& primary, const std::string& name, Options options) {
  auto server = std::unique_ptr<PostgresServer>(new PostgresServer(std::move(options)));
  absl::Status status = server->CopyFrom(primary, name);
  if (status.ok()) status = server->Restart();
  if (!status.ok()) return status;
  return server;
}

absl::Status PostgresServer::CopyFrom(const PostgresServer& primary, const std::string& name) {
  const absl::StatusOr<std::string> copied =
      Run(AsServerAccount({FindPostgresProgram("pg_basebackup"), "-d", primary.Url(), "-D",
                           data_directory(), "-X", "stream", "-c", "fast", "--no-sync"}),
          absl::Seconds(60));
  if (!copied.ok()) return copied.status();
  options_.settings["primary_conninfo"] = absl::StrCat(
      "'host=", primary.socket_directory(), " user=postgres application_name=", name, "'");
  options_.settings.emplace("wal_retrieve_retry_interval", "100ms");
  WriteSettings();
  WriteFile(data_directory() + "/standby.signal", "");
  GiveToAccount(data_directory() + "/standby.signal");
  return absl::OkStatus();
}

absl::Status PostgresServer::RebuildAsStandbyOf(const PostgresServer& primary,
                                                const std::string& name) {
  if (process_.has_value()) Kill9();
  std::error_code error;
  std::filesystem::remove_all(data_directory(), error);
  if (error) return absl::InternalError(error.message());
  const absl::Status copied = CopyFrom(primary, name);
  return copied.ok() ? Restart() : copied;
}

absl::Status PostgresServer::Promote() const {
  const absl::StatusOr<std::string> promoted = Psql(Url(), "SELECT pg_promote(true, 60)");
  if (!promoted.ok()) return promoted.status();
  return *promoted == "t" ? absl::OkStatus() : absl::InternalError("not promoted: " + Log());
}

bool PostgresServer::CatchesUpWith(const PostgresServer& primary, absl::Duration patience) const {
  const absl::StatusOr<std::string> flushed =
      primary.Psql(primary.Url(), "SELECT pg_current_wal_flush_lsn()");
  if (!flushed.ok()) return false;
  const std::string caught_up =
      absl::StrCat("SELECT pg_last_wal_replay_lsn() >= '", *flushed, "'::pg_lsn");
  return Eventually(patience, [&] {
    const absl::StatusOr<std::string> answer = Psql(Url(), caught_up);
    return answer.ok() && *answer == "t";
  });
}

// ---- Its process

absl::Status PostgresServer::Spawn() {
  Process::Options options;
  options.argv = AsServerAccount({FindPostgresProgram("postgres"), "-D", data_directory()});
  options.env = Process::BaseEnv();
  for (const auto& [name, value] : options_.env) options.env[name] = value;
  options.working_directory = "/";
  options.stdout_path = directory_.path() + "/log";
  options.stderr_path = options.stdout_path;
  absl::StatusOr<Process> process = Process::Start(options);
  if (!process.ok()) return process.status();
  process_.emplace(*std::move(process));
  return absl::OkStatus();
}

absl::Status PostgresServer::Restart() {
  const absl::Time end = absl::Now() + options_.ready_deadline;
  absl::Status last = absl::DeadlineExceededError("not started");
  while (absl::Now() < end) {
    // A former one's children may still hold the shared memory: then it ends at once.
    if (!process_.has_value() || !process_->Running()) {
      absl::Status spawned = Spawn();
      if (!spawned.ok()) return spawned;
    }
    last = Psql(Url(), "SELECT 1").status();
    if (last.ok()) return last;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("PostgreSQL was not ready in time: ", last.message(), "\n", Log()));
}

std::string PostgresServer::Url(absl::string_view database, absl::string_view user) const {
  return absl::StrCat("host=", directory_.path(), " dbname=", database, " user=", user,
                      port_ == 0 ? "" : absl::StrCat(" port=", port_));
}

absl::StatusOr<std::string> PostgresServer::MakeDatabase(const std::string& name) {
  const absl::StatusOr<std::string> made =
      Psql(Url(), absl::StrCat("CREATE DATABASE \"", name, "\""));
  if (!made.ok()) return made.status();
  return Url(name);
}

absl::StatusOr<std::string> PostgresServer::Psql(const std::string& url,
                                                 const std::string& sql) const {
  return Run({FindPostgresProgram("psql"), "-d", url, "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1",
              "-c", sql},
             absl::Seconds(60));
}

absl::StatusOr<Process> PostgresServer::PsqlProcess(const std::string& url,
                                                    const std::string& sql) const {
  Process::Options options;
  options.argv = {FindPostgresProgram("psql"), "-d", url, "-X", "-q", "-At", "-c", sql};
  options.env = Process::BaseEnv();
  return Process::Start(options);
}

void PostgresServer::Kill9() {
  if (!process_.has_value()) return;
  // The children are in sessions of their own. With the postmaster gone they end by themselves, but
  // not the ones that are busy or stopped.
  const std::vector<pid_t> family = Family(process_->pid());
  process_->Kill();
  for (const pid_t pid : family)
    if (pid != process_->pid()) kill(pid, SIGKILL);
  process_->Wait(absl::Seconds(10));
  (void)Eventually(absl::Seconds(10),
                   [&family] { return std::none_of(family.begin(), family.end(), Lives); });
  process_.reset();
}

void PostgresServer::StopFast() {
  if (!process_.has_value()) return;
  process_->Signal(SIGINT);
  process_->Wait(absl::Seconds(30));
  process_.reset();
}

void PostgresServer::SignalAll(int signal) const {
  for (const pid_t pid : Family(process_->pid())) kill(pid, signal);
}

std::string PostgresServer::Log() const { return ReadFile(directory_.path() + "/log"); }

int PostgresServer::CountLog(absl::string_view text) const {
  const std::string log = Log();
  int count = 0;
  for (const absl::string_view line : absl::StrSplit(log, '\n'))
    count += absl::StrContains(line, text);
  return count;
}

// ---- PgBouncer

absl::StatusOr<std::unique_ptr<PgBouncer>> PgBouncer::Start(const PostgresServer& server,
                                                            int pool_size) {
  const std::string program = FindPostgresProgram("pgbouncer");
  if (program.empty())
    return absl::NotFoundError("pgbouncer is not installed: apt-get install pgbouncer");
  auto bouncer = std::unique_ptr<PgBouncer>(new PgBouncer());
  const std::string& directory = bouncer->directory_.path();
  WriteFile(directory + "/users", "\"postgres\" \"\"\n");
  WriteFile(
      directory + "/ini",
      absl::StrCat("[databases]\n* = host=", server.socket_directory(),
                   "\n[pgbouncer]\nlisten_addr =\nunix_socket_dir = ", directory,
                   "\nlisten_port = 5432\nauth_type = trust\nauth_file = ", directory,
                   "/users\npool_mode = transaction\ndefault_pool_size = ", pool_size,
                   "\nmax_client_conn = 200\nserver_login_retry = 1\nserver_idle_timeout = 1\n"));
  Process::Options options;
  options.argv = AsServerAccount({program, directory + "/ini"});
  options.env = Process::BaseEnv();
  options.working_directory = "/";
  options.stdout_path = directory + "/log";
  options.stderr_path = options.stdout_path;
  absl::StatusOr<Process> process = Process::Start(options);
  if (!process.ok()) return process.status();
  bouncer->process_.emplace(*std::move(process));
  const bool ready = Eventually(
      absl::Seconds(10), [&] { return server.Psql(bouncer->Url("postgres"), "SELECT 1").ok(); });
  if (!ready) return absl::DeadlineExceededError(bouncer->Log());
  return bouncer;
}

std::string PgBouncer::Url(absl::string_view database, absl::string_view user) const {
  return absl::StrCat("host=", directory_.path(), " dbname=", database, " user=", user);
}

std::string PgBouncer::Log() const { return ReadFile(directory_.path() + "/log"); }

}  // namespace counter::testing
