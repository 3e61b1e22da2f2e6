// Hosts: the addresses of the hosts that a database's URL names, found without blocking the loop.
//
// Use it before the driver connects: the driver would resolve names itself, and everything on the
// loop would wait for the name server. Sockets in the file system ("/run/postgresql"), addresses
// and empty names are not looked up; a name that is not found, or not in time, is left out, so that
// a name server that does not answer takes away only what it is needed for.
//
// Threads: everything on the loop's thread.
#ifndef COUNTER_STORAGE_POSTGRES_HOSTS_H_
#define COUNTER_STORAGE_POSTGRES_HOSTS_H_

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace counter::postgres {

// As the driver takes them: parallel lists with commas between.
struct Hosts {
  std::string names;
  std::string addresses;
  std::string ports;
};

// `names` and `ports` have commas between, and one port may be for all names. An error if nothing
// was found. `done` is called once, after `patience` at the latest, never from inside, and not at
// all if the loop ends before; it must keep the resolver alive. Cancelled with the resolver: then
// nothing more is found.
void FindHosts(boost::asio::ip::tcp::resolver& resolver, const std::string& names,
               const std::string& ports, absl::Duration patience,
               absl::AnyInvocable<void(absl::StatusOr<Hosts>)> done);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_HOSTS_H_
