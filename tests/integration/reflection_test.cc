// Reflection, asked by a client of our own: K09 of the fault list, plaintext part.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/integration/fixture.h"

namespace counter::testing {
namespace {

// The two versions say the same with different types.
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

// One stream of questions.
template <class Version>
class Reflection {
 public:
  using Request = typename Version::Request;
  using Response = typename Version::Response;

  explicit Reflection(const CounterServer& server)
      : stub_(Version::Service::NewStub(ChannelTo(server))) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    stream_ = stub_->ServerReflectionInfo(&context_);
  }
  ~Reflection() {
    context_.TryCancel();
    static_cast<void>(stream_->Finish());
  }

  Response Ask(const Request& request) {
    Response response;
    REQUIRE(stream_->Write(request));
    REQUIRE(stream_->Read(&response));
    return response;
  }

  std::vector<std::string> Services() {
    Request request;
    request.set_list_services("*");
    std::vector<std::string> names;
    const Response response = Ask(request);
    for (const auto& service : response.list_services_response().service())
      names.push_back(service.name());
    std::sort(names.begin(), names.end());
    return names;
  }

  Response AskSymbol(const std::string& symbol) {
    Request request;
    request.set_file_containing_symbol(symbol);
    return Ask(request);
  }

  // Learns the file that holds the symbol and everything that it imports, as a tool does.
  void LearnSymbol(const std::string& symbol) { LearnFiles(AskSymbol(symbol)); }

  const google::protobuf::FileDescriptor* Build(const std::string& file) {
    const auto* built = pool_.FindFileByName(file);
    if (built != nullptr) return built;
    const auto found = files_.find(file);
    REQUIRE(found != files_.end());
    for (const std::string& import : found->second.dependency()) Build(import);
    return pool_.BuildFile(found->second);
  }
  // The pool of everything that was learned.
  const google::protobuf::DescriptorPool& BuildAll() {
    for (const auto& [name, file] : files_) {
      INFO(name);
      REQUIRE(Build(name) != nullptr);
    }
    return pool_;
  }

 private:
  void LearnFiles(const Response& response) {
    INFO(response.DebugString());
    REQUIRE(response.has_file_descriptor_response());
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      REQUIRE(file.ParseFromString(bytes));
      files_[file.name()] = file;
    }
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      REQUIRE(file.ParseFromString(bytes));
      for (const std::string& import : file.dependency()) {
        if (files_.count(import) != 0) continue;
        Request request;
        request.set_file_by_filename(import);
        LearnFiles(Ask(request));
      }
    }
  }

  std::unique_ptr<typename Version::Service::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
  std::map<std::string, google::protobuf::FileDescriptorProto> files_;
  google::protobuf::DescriptorPool pool_;
};

TEMPLATE_TEST_CASE("Everything that is listed resolves, with its methods and messages", "", V1,
                   V1Alpha) {
  auto server = StartServer();
  Reflection<TestType> reflection(*server);
  const std::vector<std::string> services = reflection.Services();
  for (const char* expected :
       {"counter.v1.CounterService", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection"}) {
    CAPTURE(expected);
    CHECK(std::count(services.begin(), services.end(), expected) == 1);
  }
  for (const std::string& service : services) reflection.LearnSymbol(service);
  const google::protobuf::DescriptorPool& pool = reflection.BuildAll();
  int methods = 0;
  for (const std::string& name : services) {
    CAPTURE(name);
    const auto* service = pool.FindServiceByName(name);
    REQUIRE(service != nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      ++methods;
      // A tool may ask for each of them by name.
      for (const std::string& symbol : {method->full_name(), method->input_type()->full_name(),
                                        method->output_type()->full_name()}) {
        CAPTURE(symbol);
        CHECK(reflection.AskSymbol(symbol).has_file_descriptor_response());
      }
    }
  }
  CHECK(methods >= 9 + 2 + 1 + 1);
  const auto* counter = pool.FindServiceByName("counter.v1.CounterService");
  REQUIRE(counter != nullptr);
  std::set<std::string> names;
  for (int i = 0; i < counter->method_count(); ++i) names.insert(counter->method(i)->name());
  CHECK(names == std::set<std::string>{"Like", "Unlike", "WriteLikes", "GetCount", "BatchGetCounts",
                                       "HasLiked", "ListLikes", "ListLikers", "WatchCounts"});
}

TEMPLATE_TEST_CASE("An unknown symbol is NOT_FOUND and the stream goes on", "", V1, V1Alpha) {
  auto server = StartServer();
  Reflection<TestType> reflection(*server);
  const auto response = reflection.AskSymbol("counter.v1.Nothing");
  CHECK(response.error_response().error_code() == grpc::NOT_FOUND);
  CHECK(response.valid_host().empty());
  CHECK(reflection.AskSymbol("counter.v1.LikeRequest").has_file_descriptor_response());
}

TEMPLATE_TEST_CASE("Reflection that is turned off is UNIMPLEMENTED", "", V1, V1Alpha) {
  auto server = StartServer({{"REFLECTION", "false"}});
  const auto stub = TestType::Service::NewStub(ChannelTo(*server));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
  auto stream = stub->ServerReflectionInfo(&context);
  typename TestType::Request request;
  request.set_list_services("*");
  stream->Write(request);
  typename TestType::Response response;
  CHECK_FALSE(stream->Read(&response));
  CHECK(stream->Finish().error_code() == grpc::UNIMPLEMENTED);
  // The service itself is there.
  CHECK(ConnectTo(*server).Like(1, Post(1)).ok());
}

}  // namespace
}  // namespace counter::testing
