// Reloaded: a value that is made from files, and made anew when an operator changes them.
//
//   Reloaded<TlsIdentity> tls("the certificate", {cert_path, key_path}, Parse);
//   absl::Status loaded = tls.Load();      // at the start: nothing serves with a value that is bad
//   watch.Add([&] { tls.Look(); });        // each second (file_watch.h)
//   ... tls.current() ...
//
// The files are read whole and compared by content, so that a rename and a Kubernetes volume, which
// swaps a link, both count, and so does a write in place. Neither that nor the replacement of
// several files is done in one instant: a new content is used, or refused, when two looks one after
// another have found the same. One that cannot be used changes nothing: the former value stays, an
// error is logged, stale() says so.
//
// Threads: Load() and Look() one at a time; the rest any. Ownership: hands out shared values, since
// a call may still hold the former one when the next is made.
#ifndef COUNTER_SERVER_FILES_RELOADED_H_
#define COUNTER_SERVER_FILES_RELOADED_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/log.h"
#include "base/mutex.h"
#include "server/files/file_text.h"

namespace counter {

template <class T>
class Reloaded {
 public:
  // `texts[i]` is the content of the file i. The error is for the operator: without any content.
  using Parse = std::function<absl::StatusOr<T>(const std::vector<std::string>& texts)>;

  // `what` names the value in the log: "the caller table".
  Reloaded(std::string what, std::vector<std::string> paths, Parse parse)
      : what_(std::move(what)), paths_(std::move(paths)), parse_(std::move(parse)) {}
  Reloaded(const Reloaded&) = delete;
  Reloaded& operator=(const Reloaded&) = delete;

  // Reads the files for the first time.
  absl::Status Load() {
    absl::StatusOr<std::vector<std::string>> texts = Read();
    if (!texts.ok()) return texts.status();
    absl::StatusOr<T> value = parse_(*texts);
    if (!value.ok()) return value.status();
    good_ = *std::move(texts);
    Set(*std::move(value));
    return absl::OkStatus();
  }

  // Reads them again; takes what has changed and was the same at the look before.
  void Look() {
    absl::StatusOr<std::vector<std::string>> texts = Read();
    if (texts.ok() && *texts == good_) {
      changed_.reset();
      stale_.store(false, std::memory_order_relaxed);
      return;
    }
    std::vector<std::string> changed;
    if (texts.ok()) changed = *texts;
    if (changed_ == nullptr || *changed_ != changed) {
      changed_ = std::make_unique<std::vector<std::string>>(std::move(changed));
      is_refused_ = false;
      return;
    }
    if (is_refused_) return;
    if (!texts.ok()) return Refuse(texts.status());
    absl::StatusOr<T> value = parse_(*changed_);
    if (!value.ok()) return Refuse(value.status());
    good_ = *std::move(changed_);
    changed_.reset();
    stale_.store(false, std::memory_order_relaxed);
    reloads_.fetch_add(1, std::memory_order_relaxed);
    Set(*std::move(value));
    Log(LogLevel::kInfo, "Changed files are in use.", {{"what", what_}});
  }

  // Requires that Load() was OK.
  std::shared_ptr<const T> current() const {
    MutexLock lock(mutex_);
    return current_;
  }

  // Whether the files hold something that cannot be used, so that the former value counts.
  bool stale() const { return stale_.load(std::memory_order_relaxed); }
  int64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }

 private:
  absl::StatusOr<std::vector<std::string>> Read() const {
    std::vector<std::string> texts;
    for (const std::string& path : paths_) {
      absl::StatusOr<std::string> text = ReadFileText(path);
      if (!text.ok()) return text.status();
      texts.push_back(*std::move(text));
    }
    return texts;
  }

  void Refuse(const absl::Status& why) {
    is_refused_ = true;
    stale_.store(true, std::memory_order_relaxed);
    Log(LogLevel::kError, "Changed files cannot be used; what they held before stays in use.",
        {{"what", what_}, {"why", why.message()}});
  }

  void Set(T value) {
    auto shared = std::make_shared<const T>(std::move(value));
    MutexLock lock(mutex_);
    current_.swap(shared);
  }

  const std::string what_;
  const std::vector<std::string> paths_;
  const Parse parse_;
  std::vector<std::string> good_;  // What the value was made of.
  // What the last look found instead; empty if it could not be read, absent if nothing.
  std::unique_ptr<std::vector<std::string>> changed_;
  bool is_refused_ = false;  // It cannot be used, and that was told.
  std::atomic<bool> stale_ = false;
  std::atomic<int64_t> reloads_ = 0;

  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_FILES_RELOADED_H_
