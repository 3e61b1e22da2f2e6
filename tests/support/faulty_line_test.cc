// The faulty line before a server that answers each byte with one, so that what got through shows.
#include "tests/support/faulty_line.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "base/mutex.h"
#include "tests/support/eventually.h"
#include "tests/support/tcp.h"

namespace counter::testing {
namespace {

// Says back what it hears, in capital letters; knows how much it has heard.
class Echo {
 public:
  Echo() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&name), size) == 0);
    REQUIRE(listen(listener_, 16) == 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(name.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~Echo() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  int port() const { return port_; }
  int64_t heard() const { return heard_; }
  int ended() const { return ended_; }

 private:
  void Accept() {
    std::vector<std::thread> talks;
    while (true) {
      const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) break;
      talks.emplace_back([this, peer] { Talk(peer); });
    }
    for (std::thread& talk : talks) talk.join();
  }
  void Talk(int peer) {
    char bytes[4096];
    ssize_t got = 0;
    while ((got = recv(peer, bytes, sizeof bytes, 0)) > 0) {
      heard_ += got;
      for (ssize_t i = 0; i < got; ++i) bytes[i] = static_cast<char>(bytes[i] - 'a' + 'A');
      if (send(peer, bytes, static_cast<size_t>(got), MSG_NOSIGNAL) != got) break;
    }
    ++ended_;
    close(peer);
  }

  const int listener_;
  int port_ = 0;
  std::atomic<int64_t> heard_ = 0;
  std::atomic<int> ended_ = 0;
  std::thread acceptor_;
};

LoopbackConnection Open(const FaultyLine& line, absl::Duration patience = absl::Seconds(10)) {
  auto connection = LoopbackConnection::Open(line.port(), absl::Now() + patience);
  REQUIRE(connection.ok());
  return *std::move(connection);
}

// What comes until there are `size` bytes or the connection ends; "!" stands for a broken one and
// "." for one that ended.
std::string Hear(LoopbackConnection& connection, size_t size) {
  std::string heard;
  while (heard.size() < size) {
    const auto some = connection.Receive();
    if (!some.ok()) return heard + "!";
    if (some->empty()) return heard + ".";
    heard += *some;
  }
  return heard;
}

std::string Ask(LoopbackConnection& connection, const std::string& text) {
  if (!connection.Send(text).ok()) return "!";
  return Hear(connection, text.size());
}

TEST_CASE("A line that is told nothing passes everything on, also with tiny buffers") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}, .buffer_bytes = 2048});
  LoopbackConnection connection = Open(line);
  CHECK(Ask(connection, "abc") == "ABC");
  const std::string much(300'000, 'x');
  std::thread sender([&] { (void)connection.Send(much); });
  const std::string back = Hear(connection, much.size());
  sender.join();
  CHECK(back == std::string(much.size(), 'X'));
}

TEST_CASE("A line that swallows takes everything and gives nothing, and is broken afterwards") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection idle = Open(line);
  LoopbackConnection busy = Open(line, absl::Milliseconds(500));
  REQUIRE(Ask(idle, "a") == "A");
  line.Swallow();
  CHECK(Ask(busy, "abc") == "!");  // Nothing came in time.
  CHECK(echo.heard() == 1);
  line.Pass();
  CHECK(Ask(idle, "b") == "B");
  LoopbackConnection later = Open(line);
  CHECK(Ask(later, "c") == "C");
}

TEST_CASE("A line that passes others only leaves a connection that lost bytes silent for ever") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection busy = Open(line, absl::Milliseconds(700));
  line.Swallow();
  REQUIRE(Ask(busy, "abc") == "!");  // Nothing came in time.
  line.PassOthers();
  LoopbackConnection later = Open(line);
  CHECK(Ask(later, "c") == "C");
  busy.WaitUntil(absl::Now() + absl::Milliseconds(300));
  REQUIRE(busy.Send("d").ok());
  CHECK(absl::IsDeadlineExceeded(busy.Receive().status()));
  CHECK(Ask(later, "e") == "E");
  CHECK(echo.heard() == 2);
}

TEST_CASE("A slow line holds back each way by what it was told") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  line.Slow(absl::Milliseconds(60));
  const absl::Time start = absl::Now();
  CHECK(Ask(connection, "abc") == "ABC");
  CHECK(absl::Now() - start >= absl::Milliseconds(120));
}

TEST_CASE("A line that cuts lets just so many bytes of each connection through") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  REQUIRE(Ask(connection, "ab") == "AB");
  line.CutAfter(5);
  CHECK(Ask(connection, "abc") == "ABC");
  CHECK(Ask(connection, "defg").find("FG") == std::string::npos);
  CHECK(Eventually(absl::Seconds(10), [&] { return echo.heard() == 2 + 5; }));
}

TEST_CASE("A line that drops replies lets the request arrive and breaks before its answer") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  line.DropReplies();
  CHECK(Ask(connection, "abc") == "!");
  CHECK(echo.heard() == 3);
}

TEST_CASE("A reset breaks the connections that there are, and no later one") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  REQUIRE(Ask(connection, "a") == "A");
  line.Reset();
  CHECK(Hear(connection, 1) == "!");
  LoopbackConnection later = Open(line);
  CHECK(Ask(later, "b") == "B");
}

TEST_CASE("A line that refuses breaks what there is and whatever comes") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  REQUIRE(Ask(connection, "a") == "A");
  line.Refuse();
  CHECK(Hear(connection, 1) == "!");
  LoopbackConnection later = Open(line);
  CHECK(Ask(later, "b") == "!");
  line.Pass();
  LoopbackConnection last = Open(line);
  CHECK(Ask(last, "c") == "C");
}

TEST_CASE("After a half-close the server hears the end, and what the client says is lost") {
  Echo echo;
  FaultyLine line({.server = {echo.port()}});
  LoopbackConnection connection = Open(line);
  REQUIRE(Ask(connection, "a") == "A");
  line.HalfClose();
  CHECK(Eventually(absl::Seconds(10), [&] { return echo.ended() == 1; }));
  CHECK(Ask(connection, "b").find('B') == std::string::npos);
}

}  // namespace
}  // namespace counter::testing
