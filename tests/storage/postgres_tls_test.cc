// TLS to PostgreSQL, up to sslmode=verify-full, as the URL asks for it. On a real server.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "tests/storage/postgres_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_settings.h"

namespace counter::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

void RunOpenssl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  Process::Options options;
  options.argv = std::move(arguments);
  options.env = Process::BaseEnv();
  absl::StatusOr<Process> process = Process::Start(options);
  REQUIRE(process.ok());
  REQUIRE(process->Wait(absl::Seconds(30)) == ExitStatus{0, 0});
}

// A key and a certificate of its own: NAME.key and NAME.pem.
void MakeAuthority(const TempDir& folder, const std::string& name) {
  RunOpenssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
              "-days", "2", "-subj", "/CN=" + name, "-keyout", folder.File(name + ".key"), "-out",
              folder.File(name + ".pem")});
}

// The same, for `names`, signed by the authority "ca".
void MakeServerCertificate(const TempDir& folder, const std::string& names) {
  RunOpenssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
              "/CN=server", "-keyout", folder.File("server.key"), "-out",
              folder.File("server.csr")});
  WriteFile(folder.File("names"), "subjectAltName=" + names + "\n");
  RunOpenssl({"x509", "-req", "-in", folder.File("server.csr"), "-CA", folder.File("ca.pem"),
              "-CAkey", folder.File("ca.key"), "-CAcreateserial", "-days", "2", "-extfile",
              folder.File("names"), "-out", folder.File("server.pem")});
}

struct TlsServer {
  explicit TlsServer(const std::string& names) {
    MakeAuthority(folder, "ca");
    MakeAuthority(folder, "other");
    MakeServerCertificate(folder, names);
    PostgresServer::Options options;
    options.certificate = ReadFile(folder.File("server.pem"));
    options.key = ReadFile(folder.File("server.key"));
    auto started = PostgresServer::Start(options);
    INFO(started.status());
    REQUIRE(started.ok());
    server = *std::move(started);
    const std::string url = MigratedDatabase(*server);
    const size_t name = url.find("dbname=") + 7;
    database = url.substr(name, url.find(' ', name) - name);
  }

  std::string Url(absl::string_view host, absl::string_view mode, absl::string_view ca) const {
    return absl::StrCat("postgresql://postgres@", host, ":", server->port(), "/", database,
                        "?sslmode=", mode, "&sslrootcert=", folder.File(std::string(ca)));
  }

  TempDir folder;
  std::unique_ptr<PostgresServer> server;
  std::string database;
};

// A store that does not come to be ready; everything that it says to an operator.
std::string WhatIsSaidOf(const std::string& url) {
  Mutex mutex;
  std::string said;
  postgres::StoreOptions options = TestStoreOptions(url);
  options.open_wait = absl::Milliseconds(100);
  options.say = [&](const std::string& text) {
    MutexLock lock(mutex);
    absl::StrAppend(&said, text, "\n");
  };
  const auto store = postgres::PostgresStore::Open(options);
  REQUIRE(store.ok());
  const auto certificate = [&] {
    MutexLock lock(mutex);
    return absl::StrContains(said, "certificate");
  };
  CHECK(Eventually(kPatience, certificate));
  CHECK_FALSE((*store)->Health().ok());
  CHECK_FALSE(Like(**store, 1, 10, absl::Seconds(2)).ok());
  absl::StrAppend(&said, (*store)->Health().message());
  (*store)->Stop();
  return said;
}

TEST_CASE(
    "a server whose certificate has the URL's name, of the URL's authority, is used over TLS") {
  TlsServer tls("DNS:localhost");
  const auto store = OpenTestStore(tls.Url("localhost", "verify-full", "ca.pem"));
  CHECK(Like(*store, 1, 10).ok());
  CHECK(CountOf(*store, 10)->count == 1);
  const auto plain = tls.server->Psql(
      tls.server->Url(tls.database),
      "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_activity JOIN pg_stat_ssl USING "
      "(pid) WHERE application_name = 'counterd'");
  REQUIRE(plain.ok());
  CHECK(*plain == "3|3");
}

TEST_CASE(
    "a server of another authority, or under another name, is not used, and no key is shown") {
  TlsServer tls("DNS:db.example");
  // The address is right, the name is not.
  const std::string wrong_name = WhatIsSaidOf(tls.Url("localhost", "verify-full", "ca.pem"));
  const std::string wrong_authority = WhatIsSaidOf(tls.Url("localhost", "verify-ca", "other.pem"));
  const std::string password = WhatIsSaidOf(
      absl::StrCat(tls.Url("localhost", "verify-ca", "other.pem"), "&password=hunter2"));
  for (const std::string& said : {wrong_name, wrong_authority, password}) {
    CHECK_FALSE(absl::StrContains(said, "PRIVATE KEY"));
    CHECK_FALSE(absl::StrContains(said, "hunter2"));
  }
  // Whose authority is right, and whose name nobody asked for.
  const auto store = OpenTestStore(tls.Url("localhost", "verify-ca", "ca.pem"));
  CHECK(Like(*store, 1, 10).ok());
}

}  // namespace
}  // namespace counter::testing
