// NetLink: a network of its own behind a pair of virtual Ethernet ends, whose far end can be taken
// down: packets go nowhere then, and nobody is told, as when a cable is pulled.
//
// Listen() makes a listener there, for a Proxy on this machine: who connects to it from here goes
// through the link. Nothing leaves the machine: the addresses are of 192.0.2.0/24, which is for
// documentation.
//
// It needs the right to administer networks: see works(). Gone with the object.
//
// Threads: one. Ownership: sockets given out belong to who asked.
#ifndef COUNTER_TESTS_TORTURE_NET_LINK_H_
#define COUNTER_TESTS_TORTURE_NET_LINK_H_

#include <string>
#include <vector>

namespace counter::testing {

class NetLink {
 public:
  NetLink();
  ~NetLink();
  NetLink(const NetLink&) = delete;
  NetLink& operator=(const NetLink&) = delete;

  bool works() const { return works_; }

  // The address of the far end.
  const std::string& address() const { return far_address_; }
  // A socket that listens on a free port there; -1 if it cannot be had. Requires works().
  int Listen() const;

  void Down() const;
  void Up() const;

 private:
  const std::string name_;  // Of the namespace and, with a letter before, of both ends.
  const std::string near_address_;
  const std::string far_address_;
  bool works_ = false;
};

}  // namespace counter::testing

#endif  // COUNTER_TESTS_TORTURE_NET_LINK_H_
