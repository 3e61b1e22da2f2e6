#include "server/rpc/reflection.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "server/rpc/health.h"
#include "server/rpc/testing/echo_server.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <catch2/catch.hpp>

namespace counter::rpc {
namespace {

using testing::EchoServer;

struct V1 {
  using Service = grpc::reflection::v1::ServerReflection;
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
};
struct V1Alpha {
  using Service = grpc::reflection::v1alpha::ServerReflection;
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;
};

struct Served {
  Served() {
    health.Register(server.server());
    reflection.Register(server.server());
  }
  HealthService health;
  ReflectionService reflection;
  EchoServer server;
};

// What a tool does: builds a pool from what came over the wire only.
template <class Version>
class Tool {
 public:
  explicit Tool(const EchoServer& server)
      : stub_(server.Connect()), stream_(stub_.ServerReflectionInfo(&context_)) {}

  typename Version::Response Ask(const typename Version::Request& request) {
    typename Version::Response response;
    if (!stream_->Write(request) || !stream_->Read(&response)) {
      response.mutable_error_response()->set_error_message("the stream has ended");
    }
    return response;
  }
  typename Version::Response AskForSymbol(const std::string& symbol) {
    typename Version::Request request;
    request.set_file_containing_symbol(symbol);
    return Ask(request);
  }
  grpc::Status End() {
    stream_->WritesDone();
    return stream_->Finish();
  }
  auto& stream() { return *stream_; }

 private:
  grpc::ClientContext context_;
  typename Version::Service::Stub stub_;
  std::unique_ptr<grpc::ClientReaderWriter<typename Version::Request, typename Version::Response>>
      stream_;
};

// Builds all files of an answer, imports first; the first one's name, or "" if one is missing.
template <class Response>
std::string Build(const Response& response, google::protobuf::DescriptorPool& pool) {
  std::map<std::string, google::protobuf::FileDescriptorProto> files;
  std::string first;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    if (!file.ParseFromString(bytes)) return "";
    if (first.empty()) first = file.name();
    files[file.name()] = file;
  }
  while (!files.empty()) {
    const size_t before = files.size();
    for (auto file = files.begin(); file != files.end();) {
      const bool buildable = std::all_of(
          file->second.dependency().begin(), file->second.dependency().end(),
          [&](const std::string& name) { return pool.FindFileByName(name) != nullptr; });
      if (buildable && pool.BuildFile(file->second) == nullptr) return "";
      file = buildable ? files.erase(file) : std::next(file);
    }
    if (files.size() == before) return "";
  }
  return first;
}

TEMPLATE_TEST_CASE("reflection lists every service of the server", "", V1, V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  typename TestType::Request request;
  request.set_host("here");
  request.set_list_services("*");
  const auto response = tool.Ask(request);
  std::set<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.insert(service.name());
  }
  CHECK(names == std::set<std::string>{"counter.rpc.testing.EchoService", "grpc.health.v1.Health",
                                       "grpc.reflection.v1.ServerReflection",
                                       "grpc.reflection.v1alpha.ServerReflection"});
  CHECK(response.valid_host() == "here");
  CHECK(response.original_request().list_services() == "*");
  CHECK(tool.End().ok());
}

TEMPLATE_TEST_CASE("every listed service resolves with all its messages", "", V1, V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  for (const std::string& name : served.server.server().service_names()) {
    CAPTURE(name);
    google::protobuf::DescriptorPool pool;
    REQUIRE(Build(tool.AskForSymbol(name), pool) != "");
    const auto* service = pool.FindServiceByName(name);
    REQUIRE(service != nullptr);
    REQUIRE(service->method_count() > 0);
    for (int i = 0; i < service->method_count(); ++i) {
      for (const auto& symbol :
           {service->method(i)->full_name(), service->method(i)->input_type()->full_name(),
            service->method(i)->output_type()->full_name()}) {
        CHECK(tool.AskForSymbol(symbol).has_file_descriptor_response());
      }
    }
  }
}

TEMPLATE_TEST_CASE("a file is found by its name, with its imports after it", "", V1, V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  typename TestType::Request request;
  request.set_file_by_filename("echo.proto");
  google::protobuf::DescriptorPool pool;
  CHECK(Build(tool.Ask(request), pool) == "echo.proto");
  CHECK(pool.FindFileByName("google/protobuf/descriptor.proto") != nullptr);
}

TEMPLATE_TEST_CASE("extensions are found by number and all numbers of a type are told", "", V1,
                   V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  typename TestType::Request by_number;
  by_number.mutable_file_containing_extension()->set_containing_type(
      "google.protobuf.MethodOptions");
  by_number.mutable_file_containing_extension()->set_extension_number(50711);
  google::protobuf::DescriptorPool pool;
  CHECK(Build(tool.Ask(by_number), pool) == "echo.proto");

  typename TestType::Request all;
  all.set_all_extension_numbers_of_type("google.protobuf.MethodOptions");
  const auto response = tool.Ask(all);
  const auto& numbers = response.all_extension_numbers_response().extension_number();
  CHECK(response.all_extension_numbers_response().base_type_name() ==
        "google.protobuf.MethodOptions");
  CHECK(std::count(numbers.begin(), numbers.end(), 50711) == 1);
}

TEMPLATE_TEST_CASE("what is unknown is NOT_FOUND and the stream goes on", "", V1, V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  typename TestType::Request file;
  file.set_file_by_filename("no/such.proto");
  typename TestType::Request extension;
  extension.mutable_file_containing_extension()->set_containing_type("no.Such");
  typename TestType::Request numbers;
  numbers.set_all_extension_numbers_of_type("no.Such");
  for (const auto& response :
       {tool.AskForSymbol("no.Such"), tool.Ask(file), tool.Ask(extension), tool.Ask(numbers)}) {
    CHECK(response.error_response().error_code() == grpc::StatusCode::NOT_FOUND);
  }
  CHECK(tool.Ask({}).error_response().error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(tool.AskForSymbol("grpc.health.v1.Health").has_file_descriptor_response());
  CHECK(tool.End().ok());
}

TEMPLATE_TEST_CASE("an idle reflection stream does not hold up the drain", "", V1, V1Alpha) {
  Served served;
  REQUIRE(served.server.Start().ok());
  Tool<TestType> tool(served.server);
  REQUIRE(tool.AskForSymbol("grpc.health.v1.Health").has_file_descriptor_response());
  const absl::Time before = absl::Now();
  served.server.server().Drain(absl::Seconds(60));
  CHECK(absl::Now() - before < absl::Seconds(30));
  CHECK_FALSE(tool.End().ok());
}

}  // namespace
}  // namespace counter::rpc
