// Proxy: stands between clients and a server, and does to what passes what a test wants.
//
// It listens on a free port of 127.0.0.1 or on a unix socket, and opens a connection to the server
// for each one that it takes. Bytes go on as they came, unless a ProxyTap says otherwise. The
// faults that need no protocol are in faulty_line.h; what a protocol needs is in a tap of its own:
// redis_proxy.h, tests/storage/postgres_proxy.h.
//
// When a connection breaks, the client sees a reset; the server an orderly end, so that what was
// passed on to it is carried out.
//
// Threads: all methods any. Each connection has two threads, one a direction. Ownership: what taps
// refer to must outlive the proxy.
#ifndef COUNTER_TESTS_SUPPORT_PROXY_H_
#define COUNTER_TESTS_SUPPORT_PROXY_H_

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace counter::testing {

// Looks at one connection.
class ProxyTap {
 public:
  virtual ~ProxyTap() = default;
  // Some bytes have come. What `bytes` holds afterwards goes on; to wait here is to hold it back.
  // False: then the connection breaks. Each is called from one thread, not the same for both.
  virtual bool FromClient(std::string& /*bytes*/) { return true; }
  virtual bool FromServer(std::string& /*bytes*/) { return true; }
  // Whether it keeps something that FromServer was given, for later: then that is called again
  // soon, with nothing new. From its thread.
  virtual bool KeepsForClient() const { return false; }
  // Whether BreakOver() is to break the connection. Any thread.
  virtual bool IsOver() const { return false; }
};

class Proxy {
 public:
  // A port of 127.0.0.1, or a unix socket if there is a path.
  struct Address {
    int port = 0;
    std::string path = {};
  };
  struct Options {
    Address listen = {};  // Port 0: a free one.
    Address server = {};
    // Listens already, in place of `listen`; for one of another network namespace. The proxy closes
    // it. -1: none.
    int listener = -1;
    int buffer_bytes = 0;  // Of each socket, both ways; 0: as the kernel likes.
    std::function<std::unique_ptr<ProxyTap>()> make_tap = {};  // For each connection; may be null.
  };

  // Ends the process if it cannot listen.
  explicit Proxy(Options options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }

  // Breaks all connections; new ones lead to `server`.
  void LeadTo(Address server);
  // Breaks all connections.
  void BreakAll();
  // Breaks those whose taps say so.
  void BreakOver();
  // Tells the server, on each connection, that nothing more will come from the client, who does not
  // know and goes on listening. What the client sends later breaks the connection.
  void HalfCloseAll();

 private:
  class Line;
  void Accept();

  const Options options_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Address server_ ABSL_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<Line>> lines_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_SUPPORT_PROXY_H_
