#include "cache/redis/connection.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "cache/redis/inbox.h"
#include "cache/redis/servers.h"

namespace counter::redis {

class Connection::Loop {
 public:
  explicit Loop(ConnectionOptions options)
      : options_(std::move(options)),
        work_(boost::asio::make_work_guard(context_)),
        servers_(context_, options_, counters_,
                 {.on_loss = [this](const SlotSet& slots) { OnLoss(slots); },
                  .on_trouble = [this](absl::string_view why) { Note(why); }}) {}

  void Listen(std::function<void(const SlotSet&)> listener) {
    listeners_.push_back(std::move(listener));
  }
  void Start() {
    Post(context_, [this] { servers_.Begin(); });
    thread_ = std::thread([this] { context_.run(); });
  }
  void Stop();

  bool usable() const { return servers_.usable(); }
  bool by_slot() const { return servers_.by_slot(); }
  absl::Time believed_since(int slot) const { return servers_.believed_since(slot); }
  void Send(Request request);
  ConnectionStats Stats() const { return counters_.Stats(); }
  std::string LastTrouble() const {
    MutexLock lock(mutex_);
    return last_trouble_;
  }

 private:
  void TakeInbox();
  void OnLoss(const SlotSet& slots) {
    for (const auto& listener : listeners_) listener(slots);
  }
  void Note(absl::string_view trouble) {
    MutexLock lock(mutex_);
    last_trouble_ = std::string(trouble);
  }

  const ConnectionOptions options_;
  std::vector<std::function<void(const SlotSet&)>> listeners_;

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
  ConnectionCounters counters_;
  Inbox inbox_;
  mutable Mutex mutex_;
  std::string last_trouble_ ABSL_GUARDED_BY(mutex_);
  Servers servers_;
};

void Connection::Loop::Stop() {
  if (!thread_.joinable()) return;
  Post(context_, [this] {
    servers_.End();
    work_.reset();
  });
  thread_.join();
  // What came too late for the loop. No loop is left to answer on.
  std::vector<Request> late;
  inbox_.Close(late);
  for (Request& request : late) request.done(std::nullopt);
}

void Connection::Loop::Send(Request request) {
  const Inbox::Put put = inbox_.Add(request);
  // After Stop there is no loop to answer on.
  if (put == Inbox::Put::kClosed) return request.done(std::nullopt);
  if (put == Inbox::Put::kWakeTheLoop) Post(context_, [this] { TakeInbox(); });
}

void Connection::Loop::TakeInbox() {
  std::vector<Finished> ended;
  for (Request& request : inbox_.TakeAll()) {
    if (auto one = servers_.Take(std::move(request))) ended.push_back(*std::move(one));
  }
  servers_.Flush();
  for (Finished& one : ended) one.Tell();
}

Connection::Connection(ConnectionOptions options)
    : loop_(std::make_unique<Loop>(std::move(options))) {}

Connection::~Connection() { Stop(); }

void Connection::OnNewRun(std::function<void(const SlotSet&)> listener) {
  loop_->Listen(std::move(listener));
}
void Connection::Start() { loop_->Start(); }
void Connection::Stop() { loop_->Stop(); }
bool Connection::usable() const { return loop_->usable(); }
bool Connection::by_slot() const { return loop_->by_slot(); }
absl::Time Connection::believed_since(int slot) const { return loop_->believed_since(slot); }
void Connection::Send(Request request) { loop_->Send(std::move(request)); }
ConnectionStats Connection::Stats() const { return loop_->Stats(); }
std::string Connection::LastTrouble() const { return loop_->LastTrouble(); }

}  // namespace counter::redis
