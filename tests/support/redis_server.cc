#include "tests/support/redis_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tests/support/eventually.h"

namespace counter::testing {
namespace {

constexpr char kNoAnswer[] = "-NOCONNECTION";

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago; 0 if there is none.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

// As FreePort, for a node of a cluster: the nodes talk to each other on that port + 10000.
int FreeClusterPort() {
  constexpr int kBusOffset = 10'000;
  constexpr int kLooks = 200;
  for (int look = 0; look < kLooks; ++look) {
    const int port = FreePort();
    if (port + kBusOffset > 65'535) continue;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in bus = Loopback(port + kBusOffset);
    const bool is_free = bind(fd, reinterpret_cast<const sockaddr*>(&bus), sizeof(bus)) == 0;
    close(fd);
    if (is_free) return port;
  }
  return 0;
}

// A blocking connection for some commands.
class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = Loopback(port);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::string Ask(const std::vector<std::string>& parts) {
    std::string bytes = absl::StrCat("*", parts.size(), "\r\n");
    for (const std::string& part : parts)
      absl::StrAppend(&bytes, "$", part.size(), "\r\n", part, "\r\n");
    if (!connected_ ||
        send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
      return kNoAnswer;
    }
    return ReadReply().value_or(kNoAnswer);
  }

 private:
  void Connect(const sockaddr* address, socklen_t size) {
    const timeval limit = {5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    connected_ = connect(fd_, address, size) == 0;
  }
  std::optional<std::string> ReadReply() {
    const std::optional<std::string> line = ReadLine();
    if (!line || line->empty()) return std::nullopt;
    const char type = (*line)[0];
    if (type == '-') return *line;
    const std::string rest = line->substr(1);
    if (type != '$' && type != '*') return rest;
    int64_t length = 0;
    if (!absl::SimpleAtoi(rest, &length)) return std::nullopt;
    if (length < 0) return "(nil)";
    if (type == '$') {
      std::optional<std::string> text = Read(static_cast<size_t>(length) + 2);
      if (text) text->resize(static_cast<size_t>(length));
      return text;
    }
    std::vector<std::string> elements;
    for (int64_t i = 0; i < length; ++i) {
      std::optional<std::string> element = ReadReply();
      if (!element) return std::nullopt;
      elements.push_back(*std::move(element));
    }
    return absl::StrJoin(elements, "\n");
  }
  std::optional<std::string> ReadLine() {
    size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      if (!Fill()) return std::nullopt;
    }
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return line;
  }
  std::optional<std::string> Read(size_t size) {
    while (buffer_.size() < size) {
      if (!Fill()) return std::nullopt;
    }
    std::string bytes = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return bytes;
  }
  bool Fill() {
    char bytes[16 * 1024];
    const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
    return got > 0;
  }

  const int fd_;
  bool connected_ = false;
  std::string buffer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisServer>> RedisServer::Start(Options options) {
  std::unique_ptr<RedisServer> server(new RedisServer(std::move(options)));
  if (server->options_.tls) {
    absl::Status made = server->MakeCertificate();
    if (!made.ok()) return made;
  }
  // Somebody may take the port between our look at it and Redis's.
  constexpr int kAttempts = 5;
  absl::Status started;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    server->port_ = server->options_.cluster ? FreeClusterPort() : FreePort();
    if (server->options_.tls) server->tls_port_ = FreePort();
    started = server->Spawn();
    if (started.ok()) return server;
  }
  return started;
}

absl::Status RedisServer::MakeCertificate() {
  Process::Options openssl;
  openssl.env = Process::BaseEnv();
  openssl.argv = {
      "openssl",  "req",           "-x509",   "-newkey",
      "rsa:2048", "-nodes",        "-keyout", temp_.File("key.pem"),
      "-out",     ca_file(),       "-days",   "2",
      "-subj",    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"};
  absl::StatusOr<Process> process = Process::Start(openssl);
  if (!process.ok()) return process.status();
  if (process->Wait(absl::Seconds(20)) != ExitStatus{0, 0}) {
    return absl::InternalError("openssl made no certificate");
  }
  return absl::OkStatus();
}

absl::Status RedisServer::Spawn() {
  const char* binary = std::getenv("REDIS_SERVER");
  Process::Options redis;
  redis.env = Process::BaseEnv();
  for (const auto& [name, value] : options_.env) redis.env[name] = value;
  redis.argv = {binary != nullptr ? binary : "redis-server",
                "--port",
                options_.tls_only.has_value() ? "0" : absl::StrCat(port_),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                temp_.path(),
                "--logfile",
                temp_.File("redis.log")};
  if (options_.tls) {
    for (const std::string& arg :
         {std::string("--tls-port"), absl::StrCat(tls_port_), std::string("--tls-cert-file"),
          ca_file(), std::string("--tls-key-file"), temp_.File("key.pem"),
          std::string("--tls-auth-clients"), std::string("no")}) {
      redis.argv.push_back(arg);
    }
  }
  if (options_.tls_only.has_value()) {
    const TlsFiles& files = *options_.tls_only;
    redis.argv.insert(
        redis.argv.end(),
        {"--tls-port", absl::StrCat(port_), "--tls-ca-cert-file", files.authority,
         "--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-auth-clients",
         "no", "--tls-replication", "yes", "--tls-cluster", "yes", "--unixsocket", SocketPath()});
  }
  if (options_.cluster) {
    redis.argv.insert(redis.argv.end(),
                      {"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                       "--repl-diskless-sync-delay", "0", "--rdb-del-sync-files", "yes"});
  }
  redis.argv.insert(redis.argv.end(), options_.args.begin(), options_.args.end());
  absl::StatusOr<Process> started = Process::Start(redis);
  if (!started.ok()) return started.status();
  process_.emplace(*std::move(started));
  const bool answers = Eventually(
      absl::Seconds(20), [&] { return !process_->Running() || Command({"PING"}) == "PONG"; });
  if (answers && process_->Running()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("redis-server did not start:\n", ReadFile(temp_.File("redis.log"))));
}

std::string RedisServer::url() const { return absl::StrCat("redis://127.0.0.1:", port_); }

std::string RedisServer::ca_file() const { return temp_.File("ca.pem"); }

void RedisServer::Kill9() {
  process_->Kill();
  process_->Wait(absl::InfiniteDuration());
}

void RedisServer::Pause() { process_->Signal(SIGSTOP); }
void RedisServer::Continue() { process_->Signal(SIGCONT); }
absl::Status RedisServer::Restart() { return Spawn(); }

std::string RedisServer::SocketPath() const {
  return options_.tls_only.has_value() ? socket_folder_.File("redis") : "";
}

std::string RedisServer::Command(const std::vector<std::string>& parts) const {
  const std::string path = SocketPath();
  Client client = path.empty() ? Client(port_) : Client(path);
  std::vector<std::string> login = {"AUTH", options_.password};
  if (!options_.user.empty()) login.insert(login.begin() + 1, options_.user);
  if (!options_.password.empty()) client.Ask(login);
  return client.Ask(parts);
}

}  // namespace counter::testing
