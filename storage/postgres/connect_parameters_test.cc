#include "storage/postgres/connect_parameters.h"

#include <catch2/catch.hpp>

#include "absl/strings/match.h"

namespace counter::postgres {
namespace {

ConnectParameters Hosts(const std::string& names, const std::string& ports) {
  return {{"host", names}, {"hostaddr", names}, {"port", ports}};
}

TEST_CASE("a connection looks for a primary, or a standby, only where there are several hosts") {
  ConnectionOptions options;
  ConnectParameters one = Hosts("10.0.0.1", "5432");
  AddParameters(options, one);
  CHECK(one.count("target_session_attrs") == 0);
  ConnectParameters two = Hosts("10.0.0.1,10.0.0.2", "5432");
  AddParameters(options, two);
  CHECK(two["target_session_attrs"] == "read-write");
  options.role = ServerRole::kReplica;
  ConnectParameters replicas = Hosts("10.0.0.1,10.0.0.2", "5432");
  AddParameters(options, replicas);
  CHECK(replicas["target_session_attrs"] == "standby");
}

TEST_CASE("what the URL says of TLS reaches the driver as it stands, and so does its own choice") {
  ConnectParameters parameters = Hosts("a,b", "1,2");
  const ConnectParameters given = {
      {"sslmode", "verify-full"}, {"sslrootcert", "/etc/ca.pem"},      {"sslcert", "/etc/me.pem"},
      {"sslkey", "/etc/me.key"},  {"target_session_attrs", "primary"}, {"gssencmode", "prefer"}};
  parameters.insert(given.begin(), given.end());
  AddParameters(ConnectionOptions(), parameters);
  for (const auto& [name, value] : given) CHECK(parameters[name] == value);
}

TEST_CASE("the settings of the session go before the URL's own, and through a pooler none go") {
  ConnectionOptions options;
  ConnectParameters parameters = {{"options", "-c work_mem=1MB"}};
  AddParameters(options, parameters);
  CHECK(absl::StartsWith(parameters["options"], "-c synchronous_commit=on "));
  CHECK(absl::EndsWith(parameters["options"], " -c work_mem=1MB"));
  options.pooled = true;
  ConnectParameters pooled;
  AddParameters(options, pooled);
  CHECK(pooled.count("options") == 0);
}

TEST_CASE("each attempt may begin with another host, and its address and port go along") {
  ConnectParameters parameters = Hosts("a,b,c", "1,2,3");
  StartWithHost(1, parameters);
  CHECK(parameters["host"] == "b,c,a");
  CHECK(parameters["hostaddr"] == "b,c,a");
  CHECK(parameters["port"] == "2,3,1");
  parameters = Hosts("a,b,c", "1,2,3");
  StartWithHost(5, parameters);
  CHECK(parameters["host"] == "c,a,b");
  parameters = Hosts("a,b", "5432");  // One port for all.
  StartWithHost(1, parameters);
  CHECK(parameters["host"] == "b,a");
  CHECK(parameters["port"] == "5432");
  parameters = Hosts("a", "1");
  StartWithHost(7, parameters);
  CHECK(parameters["host"] == "a");
}

}  // namespace
}  // namespace counter::postgres
