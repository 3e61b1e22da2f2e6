// ReflectionService: gRPC server reflection, v1 and v1alpha, for tools such as grpcurl that have no
// .proto files.
//
// It lists the services of its server and describes every message that is linked into the program
// (the generated descriptor pool). An answer with a file carries all files that it imports.
// Never link libgrpc++_reflection beside this: both register v1alpha and protobuf aborts.
//
// Threads: Register() before Server::Start().
// Ownership: outlives the server that it is registered with.
#ifndef COUNTER_SERVER_RPC_REFLECTION_H_
#define COUNTER_SERVER_RPC_REFLECTION_H_

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/task.h"
#include "server/rpc/server.h"

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace counter::rpc {

class ReflectionService {
 public:
  // Reads server.service_names() with each request, so services may be added later.
  void Register(Server& server);

 private:
  // A stream in progress; takes itself off the list at its end.
  class Streaming;

  template <class Request, class Response, class Async, class Ask>
  void RegisterVersion(Server& server, Async& service, Ask ask, const std::string& package);
  template <class Request, class Response>
  Task<grpc::Status> Serve(Call& call, StreamReader<Request>& reader,
                           StreamWriter<Response>& writer);
  // A tool may sit on an open stream for hours: the drain does not wait for it.
  void EndStreams();

  grpc::reflection::v1::ServerReflection::AsyncService v1_;
  grpc::reflection::v1alpha::ServerReflection::AsyncService v1alpha_;
  const Server* server_ = nullptr;

  Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<Call*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_REFLECTION_H_
