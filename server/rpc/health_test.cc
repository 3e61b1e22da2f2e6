#include "server/rpc/health.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "server/rpc/testing/echo_server.h"

#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using testing::EchoServer;

// Declared before the server in each test, so that it outlives it.
struct Served {
  Served() { health.Register(server.server()); }
  HealthService health;
  EchoServer server;
};

grpc::Status Check(Health::Stub& stub, const std::string& name, HealthCheckResponse& response) {
  grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service(name);
  return stub.Check(&context, request, &response);
}

struct ClientWatch {
  ClientWatch(Health::Stub& stub, const std::string& name) {
    HealthCheckRequest request;
    request.set_service(name);
    reader = stub.Watch(&context, request);
  }
  int Next() {
    HealthCheckResponse response;
    return reader->Read(&response) ? response.status() : -1;
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> reader;
};

TEST_CASE("Check answers what was set last, for the server and for each service") {
  Served served;
  served.health.Set("", true);
  served.health.Set("a.B", true);
  served.health.Set("a.B", false);
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  HealthCheckResponse response;
  REQUIRE(Check(stub, "", response).ok());
  CHECK(response.status() == HealthCheckResponse::SERVING);
  REQUIRE(Check(stub, "a.B", response).ok());
  CHECK(response.status() == HealthCheckResponse::NOT_SERVING);
}

TEST_CASE("Check of an unknown name is NOT_FOUND") {
  Served served;
  served.health.Set("", true);
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  HealthCheckResponse response;
  CHECK(Check(stub, "nobody", response).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE("Watch sends the state at once and then each change") {
  Served served;
  served.health.Set("", true);
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  ClientWatch watch(stub, "");
  CHECK(watch.Next() == HealthCheckResponse::SERVING);
  served.health.Set("", true);
  served.health.Set("", false);
  CHECK(watch.Next() == HealthCheckResponse::NOT_SERVING);
  served.health.Set("", true);
  CHECK(watch.Next() == HealthCheckResponse::SERVING);
  watch.context.TryCancel();
  CHECK(watch.reader->Finish().error_code() == grpc::StatusCode::CANCELLED);
  CHECK(served.server.NoCallIsLeftWithin(absl::Seconds(30)));
}

TEST_CASE("Watch of an unknown name says so and goes on when the name becomes known") {
  Served served;
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  ClientWatch watch(stub, "late");
  CHECK(watch.Next() == HealthCheckResponse::SERVICE_UNKNOWN);
  served.health.Set("late", true);
  CHECK(watch.Next() == HealthCheckResponse::SERVING);
}

TEST_CASE("a watch tells the last change and does not hold up the drain") {
  Served served;
  served.health.Set("", true);
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  ClientWatch watch(stub, "");
  REQUIRE(watch.Next() == HealthCheckResponse::SERVING);
  const absl::Time before = absl::Now();
  std::thread drainer([&] {
    served.health.Set("", false);
    served.server.server().Drain(absl::Seconds(60));
  });
  const int last = watch.Next();
  const int end = watch.Next();
  const grpc::Status status = watch.reader->Finish();
  drainer.join();
  CHECK(last == HealthCheckResponse::NOT_SERVING);
  CHECK(end == -1);
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(absl::Now() - before < absl::Seconds(30));
  CHECK(served.server.server().live_calls() == 0);
}

TEST_CASE("changes from many threads reach a watch that ends at any moment") {
  Served served;
  served.health.Set("", true);
  REQUIRE(served.server.Start().ok());
  Health::Stub stub(served.server.Connect());
  std::atomic<bool> enough = false;
  std::thread changer([&] {
    for (bool serving = true; !enough; serving = !serving) served.health.Set("", serving);
  });
  for (int i = 0; i < 50; ++i) {
    ClientWatch watch(stub, "");
    for (int read = 0; read < i % 5; ++read) watch.Next();
    watch.context.TryCancel();
  }
  enough = true;
  changer.join();
  CHECK(served.server.NoCallIsLeftWithin(absl::Seconds(30)));
}

}  // namespace
}  // namespace counter::rpc
