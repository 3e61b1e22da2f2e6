#include "tests/torture/net_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/process.h"

namespace counter::testing {
namespace {

bool Ip(std::vector<std::string> words) {
  Process::Options ip;
  ip.argv = {"ip"};
  ip.argv.insert(ip.argv.end(), words.begin(), words.end());
  ip.env = Process::BaseEnv();
  ip.env["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin";
  auto process = Process::Start(ip);
  return process.ok() && process->Wait(absl::Seconds(10)) == ExitStatus{0, 0};
}

// Of 192.0.2.0/24 in networks of four addresses; several tests may run at a time.
std::string AddressOf(int which) {
  constexpr int kNetworks = 63;
  return absl::StrCat("192.0.2.", 4 * (getpid() % kNetworks) + which);
}

}  // namespace

NetLink::NetLink()
    : name_(absl::StrCat("ct", getpid())), near_address_(AddressOf(1)), far_address_(AddressOf(2)) {
  const std::string near = "n" + name_;
  const std::string far = "f" + name_;
  works_ = Ip({"netns", "add", name_}) &&
           Ip({"link", "add", near, "type", "veth", "peer", "name", far, "netns", name_}) &&
           Ip({"addr", "add", near_address_ + "/30", "dev", near}) &&
           Ip({"link", "set", near, "up"}) &&
           Ip({"-n", name_, "addr", "add", far_address_ + "/30", "dev", far}) &&
           Ip({"-n", name_, "link", "set", far, "up"});
}

NetLink::~NetLink() {
  // The pair goes with the namespace, but not before its last socket has.
  Ip({"link", "del", "n" + name_});
  Ip({"netns", "del", name_});
}

int NetLink::Listen() const {
  int listener = -1;
  // A thread of its own: the namespace is the thread's.
  std::thread([&] {
    const std::string path = "/run/netns/" + name_;
    const int space = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) return;
    close(space);
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    inet_pton(AF_INET, far_address_.c_str(), &name.sin_addr);
    if (bind(made, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0 && listen(made, 64) == 0)
      listener = made;
  }).join();
  return listener;
}

void NetLink::Down() const { Ip({"-n", name_, "link", "set", "f" + name_, "down"}); }

void NetLink::Up() const { Ip({"-n", name_, "link", "set", "f" + name_, "up"}); }

}  // namespace counter::testing
