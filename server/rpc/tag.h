// Tag: the one type of thing that the engine hands to a completion queue and gets back from it.
//
// Use it for every asynchronous operation of gRPC: `stream.Write(message, tag.Arm())`. It is not a
// callback that may be kept: one operation at a time is out with a tag, and its Proceed() may be
// the last thing that happens to the object that holds the tag.
//
// Threads: Arm() on the thread that starts the operation, Proceed() on the queue's thread.
// Ownership: whoever holds the tag keeps it alive until the operation has come back.
#ifndef COUNTER_SERVER_RPC_TAG_H_
#define COUNTER_SERVER_RPC_TAG_H_

#if defined(__SANITIZE_THREAD__)
#define COUNTER_RPC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTER_RPC_TSAN 1
#endif
#endif

#ifdef COUNTER_RPC_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace counter::rpc {

class Tag {
 public:
  // The operation has ended. `ok` is false if it failed; what that means is the operation's affair.
  virtual void Proceed(bool ok) = 0;

  // What to give to gRPC. Whatever this thread did before is seen by the thread that proceeds.
  void* Arm() {
#ifdef COUNTER_RPC_TSAN
    // The prebuilt gRPC is not instrumented: the thread sanitizer has to be told of the edge.
    __tsan_release(this);
#endif
    return this;
  }

  // The tag of an operation that a queue has handed back.
  static Tag& Returned(void* tag) {
#ifdef COUNTER_RPC_TSAN
    __tsan_acquire(tag);
#endif
    return *static_cast<Tag*>(tag);
  }

 protected:
  // Not virtual: nobody deletes by way of a Tag, and awaitables stay trivially destructible.
  ~Tag() = default;
};

}  // namespace counter::rpc

#endif  // COUNTER_SERVER_RPC_TAG_H_
