#include "server/rpc/reflection.h"

#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

namespace counter::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;

// The functions below are templates over the two versions of the protocol, which are the same
// messages under two package names.

template <class Response>
void SetError(grpc::StatusCode code, const std::string& message, Response& response) {
  response.mutable_error_response()->set_error_code(code);
  response.mutable_error_response()->set_error_message(message);
}

// The file first, then what it imports, each once. Every answer is complete in itself: tools may
// ask over several streams.
template <class Answer>
void AddFileWithImports(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
                        Answer& answer) {
  if (!added.insert(&file).second) return;
  FileDescriptorProto proto;
  file.CopyTo(&proto);
  answer.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFileWithImports(*file.dependency(i), added, answer);
  }
}

template <class Response>
void AnswerFile(const FileDescriptor* file, const char* not_found, Response& response) {
  if (file == nullptr) return SetError(grpc::StatusCode::NOT_FOUND, not_found, response);
  std::set<const FileDescriptor*> added;
  AddFileWithImports(*file, added, *response.mutable_file_descriptor_response());
}

template <class Response>
void AnswerExtension(const std::string& type_name, int number, Response& response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  const Descriptor* type = pool->FindMessageTypeByName(type_name);
  const FieldDescriptor* extension =
      type == nullptr ? nullptr : pool->FindExtensionByNumber(type, number);
  AnswerFile(extension == nullptr ? nullptr : extension->file(), "unknown extension", response);
}

template <class Response>
void AnswerExtensionNumbers(const std::string& type_name, Response& response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  const Descriptor* type = pool->FindMessageTypeByName(type_name);
  if (type == nullptr) {
    return SetError(grpc::StatusCode::NOT_FOUND, "unknown message type", response);
  }
  std::vector<const FieldDescriptor*> extensions;
  pool->FindAllExtensions(type, &extensions);
  auto& answer = *response.mutable_all_extension_numbers_response();
  answer.set_base_type_name(type->full_name());
  for (const FieldDescriptor* extension : extensions) {
    answer.add_extension_number(extension->number());
  }
}

template <class Request, class Response>
void Answer(const Server& server, const Request& request, Response& response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  response.Clear();
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kFileByFilename:
      return AnswerFile(pool->FindFileByName(request.file_by_filename()), "unknown file", response);
    case Request::kFileContainingSymbol:
      return AnswerFile(pool->FindFileContainingSymbol(request.file_containing_symbol()),
                        "unknown symbol", response);
    case Request::kFileContainingExtension:
      return AnswerExtension(request.file_containing_extension().containing_type(),
                             request.file_containing_extension().extension_number(), response);
    case Request::kAllExtensionNumbersOfType:
      return AnswerExtensionNumbers(request.all_extension_numbers_of_type(), response);
    case Request::kListServices:
      for (const std::string& name : server.service_names()) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  SetError(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing that is known here",
           response);
}

}  // namespace

class ReflectionService::Streaming {
 public:
  Streaming(ReflectionService& reflection, Call& call) : reflection_(reflection), call_(call) {
    MutexLock lock(reflection_.mutex_);
    reflection_.streams_.insert(&call_);
    if (reflection_.draining_) call_.Cancel();
  }
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;
  ~Streaming() {
    MutexLock lock(reflection_.mutex_);
    reflection_.streams_.erase(&call_);
  }

 private:
  ReflectionService& reflection_;
  Call& call_;
};

void ReflectionService::Register(Server& server) {
  namespace v1 = grpc::reflection::v1;
  namespace v1alpha = grpc::reflection::v1alpha;
  server_ = &server;
  RegisterVersion<v1::ServerReflectionRequest, v1::ServerReflectionResponse>(
      server, v1_, &v1::ServerReflection::AsyncService::RequestServerReflectionInfo,
      "grpc.reflection.v1");
  RegisterVersion<v1alpha::ServerReflectionRequest, v1alpha::ServerReflectionResponse>(
      server, v1alpha_, &v1alpha::ServerReflection::AsyncService::RequestServerReflectionInfo,
      "grpc.reflection.v1alpha");
  server.OnDrain([this] { EndStreams(); });
}

template <class Request, class Response, class Async, class Ask>
void ReflectionService::RegisterVersion(Server& server, Async& service, Ask ask,
                                        const std::string& package) {
  server.AddBidi(
      service, ask, "/" + package + ".ServerReflection/ServerReflectionInfo",
      [this](Call& call, StreamReader<Request>& reader, StreamWriter<Response>& writer) {
        return Serve<Request, Response>(call, reader, writer);
      },
      MethodOptions{.waiting_calls = 4});
}

template <class Request, class Response>
Task<grpc::Status> ReflectionService::Serve(Call& call, StreamReader<Request>& reader,
                                            StreamWriter<Response>& writer) {
  const Streaming streaming(*this, call);
  Request request;
  Response response;
  while (co_await reader.Read(request)) {
    Answer(*server_, request, response);
    if (!co_await writer.Write(response)) break;
  }
  co_return grpc::Status::OK;
}

void ReflectionService::EndStreams() {
  MutexLock lock(mutex_);
  draining_ = true;
  for (Call* call : streams_) call->Cancel();
}

}  // namespace counter::rpc
