// Reloaded: a value that is made from files, and made anew when an operator changes them.
//
//   Reloaded<TlsIdentity> tls("the certificate", {cert_path, key_path}, Parse);
//   absl::Status loaded = tls.Load();      // at the start: nothing serves with a value that is bad
//   watch.Add([&] { tls.Look(); });        // each second (file_watch.h)
//   ... tls.current() ...
//
// The files are read whole and compared by content, so that a rename and a Kubernetes volume, which
// swaps a link, both count. A write in place counts, too, but half of it may be taken for a moment
// if that can be used by itself: operators are told to rename. A new content that cannot be used
// changes nothing: the former value stays, an error is logged, stale() says so. Several files are
// not replaced in one instant: what is bad at one look only, in the middle of that, is not spoken
// of.
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

  // Reads them again; takes what has changed.
  void Look() {
    absl::StatusOr<std::vector<std::string>> texts = Read();
    if (!texts.ok()) return Refuse({}, texts.status());
    if (*texts == good_) {
      bad_.reset();
      stale_.store(false, std::memory_order_relaxed);
      return;
    }
    absl::StatusOr<T> value = parse_(*texts);
    if (!value.ok()) return Refuse(*std::move(texts), value.status());
    good_ = *std::move(texts);
    bad_.reset();
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

  // `texts` is empty if they could not be read. Speaks of it at the second look, and once.
  void Refuse(std::vector<std::string> texts, const absl::Status& why) {
    const bool is_second_look = bad_ != nullptr && *bad_ == texts;
    if (!is_second_look) {
      bad_ = std::make_unique<std::vector<std::string>>(std::move(texts));
      told_ = false;
      return;
    }
    stale_.store(true, std::memory_order_relaxed);
    if (std::exchange(told_, true)) return;
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
  // What the value was made of, and what was refused at the last look.
  std::vector<std::string> good_;
  std::unique_ptr<std::vector<std::string>> bad_;
  bool told_ = false;
  std::atomic<bool> stale_ = false;
  std::atomic<int64_t> reloads_ = 0;

  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace counter

#endif  // COUNTER_SERVER_FILES_RELOADED_H_
