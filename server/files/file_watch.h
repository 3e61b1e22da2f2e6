// FileWatch: looks at files again each second, on a thread of its own.
//
// It polls: the files are few and small, and what tells of changes (inotify) misses those of
// network file systems and of directories that are swapped by a link.
//
// Threads: Add(), Start() and Stop() by one thread. Ownership: what the looks refer to outlives
// Stop().
#ifndef COUNTER_SERVER_FILES_FILE_WATCH_H_
#define COUNTER_SERVER_FILES_FILE_WATCH_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace counter {

class FileWatch {
 public:
  static constexpr absl::Duration kPeriod = absl::Seconds(1);

  FileWatch() = default;
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  ~FileWatch();

  // `look` is called each period on the watch's thread. Before Start() only.
  void Add(std::function<void()> look) { looks_.push_back(std::move(look)); }

  // Starts the thread, if there is anything to look at.
  void Start();
  // Idempotent.
  void Stop();

 private:
  void Run();

  std::vector<std::function<void()>> looks_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace counter

#endif  // COUNTER_SERVER_FILES_FILE_WATCH_H_
