// gRPC, protobuf and abseil come prebuilt, so TSan sees neither their locks nor their memory.
// Linked into every test. Defined in every build (this file is itself compiled without sanitizers);
// only the sanitizer calls them.
extern "C" const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1 second_deadlock_stack=1";
}
extern "C" const char* __tsan_default_suppressions() {
  return "race_top:^grpc::\n"
         "race_top:^void grpc::\n"
         "race_top:^non-virtual thunk to grpc::\n"
         "race_top:^google::protobuf::\n"
         "race_top:^absl::\n"
         "race:grpc::CompletionQueue::AsyncNextInternal\n"
         "race:grpc::ServerInterface::PayloadAsyncRequest\n"
         "race:^grpc::internal::CallOp\n"
         "race_top:^std::_Function_base::~_Function_base\n"
         "race_top:^std::_Function_handler<void (bool), grpc::\n"
         "race_top:^std::function<void (bool)>\n"
         "called_from_lib:libgrpc.so.29\n"
         "called_from_lib:libgpr.so.29\n";
}
