// Watch: the counts of some items, and then each change.
//
//   counter::client::Watch watch = likes.WatchCounts({{"post", 456}});
//   for (auto update = watch.Next(); update.ok(); update = watch.Next()) Show(update->counts);
//
// Use it for pages and programs that follow counts; of several changes at once it tells the newest.
// It goes on by itself from what it has told: when its server goes, on another one, and from now
// when the store has got another history. That may take a while: it tries again after 50 ms to 1 s,
// or when the server says.
//
// It ends with an error that watching again does not mend, with whatever it meets before the first
// update (but it waits for a server, as calls do), at its deadline, and by Stop; with retries off
// or WatchOptions::resumes = false at the first break.
//
// Threads: Next and the move operations of one at a time; Stop any. Ownership: the Client must
// outlive it. Errors: values (error.h).
#ifndef COUNTER_CLIENTS_CPP_WATCH_H_
#define COUNTER_CLIENTS_CPP_WATCH_H_

#include <memory>

#include "clients/cpp/client.h"
#include "clients/cpp/error.h"

namespace counter::client {

class Watch {
 public:
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();  // Ends it. Requires that no Next is waiting.

  // Waits for the next update. Once it has failed it fails in the same way for ever.
  Result<CountsUpdate> Next();

  // Ends it; a Next that waits fails with kCancelled.
  void Stop();

 private:
  friend class Client;
  class Impl;
  explicit Watch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace counter::client

#endif  // COUNTER_CLIENTS_CPP_WATCH_H_
