// ScriptedChannel: a Channel whose other end is the test: it sees each request and says what is
// answered, so that one dialogue can be replayed and broken at every step.
//
// Threads: one.
#ifndef COUNTER_TESTS_CACHE_REDIS_SCRIPTED_CHANNEL_H_
#define COUNTER_TESTS_CACHE_REDIS_SCRIPTED_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "cache/redis/channel.h"
#include "cache/redis/codec.h"

namespace counter::redis::testing {

// Replies in short.
inline Reply Nil() { return {}; }
inline Reply Text(std::string text) { return {Reply::Kind::kText, 0, std::move(text), {}}; }
inline Reply Status(std::string text) { return {Reply::Kind::kStatus, 0, std::move(text), {}}; }
inline Reply Error(std::string text) { return {Reply::Kind::kError, 0, std::move(text), {}}; }
inline Reply Integer(int64_t number) { return {Reply::Kind::kInteger, number, "", {}}; }
inline Reply Array(std::vector<Reply> elements) {
  return {Reply::Kind::kArray, 0, "", std::move(elements)};
}

// The commands of a request, each as its words.
inline std::vector<std::vector<std::string>> Words(const std::string& bytes) {
  ReplyReader reader;  // A command has the form of a reply.
  std::vector<Reply> replies;
  if (!reader.Feed(bytes, replies).ok()) return {};
  std::vector<std::vector<std::string>> commands;
  for (const Reply& reply : replies) {
    commands.emplace_back();
    for (const Reply& word : reply.elements) commands.back().push_back(word.text);
  }
  return commands;
}

class ScriptedChannel final : public Channel {
 public:
  bool usable() const override { return usable_; }
  void Send(Request request) override { waiting_.push_back(std::move(request)); }

  absl::Time believed_since(int /*slot*/) const override { return believed_since_; }

  void set_usable(bool usable) { usable_ = usable; }
  void set_believed_since(absl::Time instant) { believed_since_ = instant; }
  bool has_request() const { return !waiting_.empty(); }
  // Requires has_request().
  std::vector<std::vector<std::string>> Commands() const {
    return Words(waiting_.front().commands.bytes());
  }
  MonotonicTime deadline() const { return waiting_.front().deadline; }
  void Reply(Answer answer) {
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    request.done(std::move(answer));
  }

 private:
  bool usable_ = true;
  absl::Time believed_since_ = absl::InfinitePast();
  std::deque<Request> waiting_;
};

// A task that was started and can be looked at.
template <class T>
class Started {
 public:
  explicit Started(Task<T> task) { Spawn(Run(std::move(task), value_)); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool ended() const { return value_.has_value(); }
  // Requires ended().
  const T& value() const { return *value_; }

 private:
  static Task<> Run(Task<T> task, std::optional<T>& value) {
    T result = co_await std::move(task);
    value = std::move(result);
  }

  std::optional<T> value_;
};

}  // namespace counter::redis::testing

#endif  // COUNTER_TESTS_CACHE_REDIS_SCRIPTED_CHANNEL_H_
