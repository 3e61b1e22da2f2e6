// What the driver is given to connect with: the parameters of the URL, and ours.
//
// Use it in the connection, after the driver has taken the URL apart. TLS is the URL's matter
// (sslmode, sslrootcert, sslcert, sslkey): nothing here touches it. Pure; thread-safe.
#ifndef COUNTER_STORAGE_POSTGRES_CONNECT_PARAMETERS_H_
#define COUNTER_STORAGE_POSTGRES_CONNECT_PARAMETERS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "storage/postgres/connection_options.h"

namespace counter::postgres {

// libpq's parameters, by name. They hold the password.
using ConnectParameters = std::map<std::string, std::string>;

// Adds ours: what is set in a session of our own, the limits of time of the socket, and, where
// there are several hosts, which kind of server is looked for.
void AddParameters(const ConnectionOptions& options, ConnectParameters& parameters);

// Turns host, hostaddr and port around, so that the host number `first` comes first; counts around.
void StartWithHost(int first, ConnectParameters& parameters);

// Whether more than one host is named.
bool SeveralHosts(const ConnectParameters& parameters);

}  // namespace counter::postgres

#endif  // COUNTER_STORAGE_POSTGRES_CONNECT_PARAMETERS_H_
