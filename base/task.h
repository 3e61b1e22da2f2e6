// Task<T>: a coroutine that somebody will await, and the two ways in and out of the coroutine
// world.
//
// Use it where a piece of work waits for something (a store, a cache) and should still read as a
// straight line. It is not a thread, a future or a queue: nothing here schedules anything.
//
// Starting: a Task is lazy; it runs when it is awaited, or when Spawn() is given it.
// Threads: a Task runs on the thread that awaits it until something it awaits suspends; after that
// it
//   goes on on whichever thread completes that thing. The header of every asynchronous interface
//   says which thread that may be. A Task object itself is for one thread at a time.
// Ownership: the Task owns the coroutine's frame. Parameters taken by value live in the frame;
//   references and pointers must outlive it.
// Errors: values (absl::Status). An exception that leaves a Task ends the process.
//
// gcc 12 destroys some temporaries of a co_await expression twice. So: name the Task first, then
// await it, and never build a capturing lambda or an owning temporary inside a co_await expression.
//
//   Task<absl::StatusOr<Counts>> read = store.Counts(std::move(items), options);
//   absl::StatusOr<Counts> counts = co_await std::move(read);
#ifndef COUNTER_BASE_TASK_H_
#define COUNTER_BASE_TASK_H_

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/mutex.h"

namespace counter {

template <class T = void>
class Task;

namespace task_internal {

class PromiseBase {
 public:
  // What runs when the coroutine has ended; set by the awaiter.
  void set_continuation(std::coroutine_handle<> continuation) { continuation_ = continuation; }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct ResumeContinuation {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      return ended.promise().continuation_;
    }
    void await_resume() noexcept {}
  };
  ResumeContinuation final_suspend() noexcept { return {}; }

  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
};

template <class T>
class Promise final : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T TakeValue() { return *std::move(value_); }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void TakeValue() noexcept {}
};

}  // namespace task_internal

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = task_internal::Promise<T>;

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (coroutine_) coroutine_.destroy();
      coroutine_ = std::exchange(other.coroutine_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Starts the coroutine and waits for its value. Requires that the Task was not awaited before.
  auto operator co_await() && noexcept {
    struct Awaiter {
      std::coroutine_handle<promise_type> coroutine;
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
        coroutine.promise().set_continuation(awaiting);
        return coroutine;
      }
      T await_resume() { return coroutine.promise().TakeValue(); }
    };
    return Awaiter{coroutine_};
  }

 private:
  friend promise_type;
  explicit Task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace task_internal {

template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace task_internal

// The return type of a coroutine that starts at once and frees itself at its end. For the few
// places that are on every call's path and know all of their coroutine; everybody else uses
// Spawn().
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }
  };
};

// Starts `task` now, on this thread, and lets it run to its end on its own. Whoever needs to know
// of the end makes the task say so.
inline void Spawn(Task<void> task) {
  [](Task<void> owned) -> Detached { co_await std::move(owned); }(std::move(task));
}

// Runs `task` to its end and returns its value; blocks the calling thread. For tests, tools and
// start-up only: never on a thread that others wait for.
template <class T>
T BlockingWait(Task<T> task) {
  Notification ended;
  if constexpr (std::is_void_v<T>) {
    [](Task<T> owned, Notification& done) -> Detached {
      co_await std::move(owned);
      done.Notify();
    }(std::move(task), ended);
    ended.Wait();
  } else {
    std::optional<T> value;
    [](Task<T> owned, std::optional<T>& out, Notification& done) -> Detached {
      out.emplace(co_await std::move(owned));
      done.Notify();
    }(std::move(task), value, ended);
    ended.Wait();
    return *std::move(value);
  }
}

// What a callback-shaped operation leaves behind: the one who holds a Resumer<T> calls it exactly
// once with the value, from any thread but not from inside the function that was given it; the
// awaiting coroutine then goes on on that thread.
template <class T>
class Resumer {
 public:
  Resumer(std::optional<T>& slot, std::coroutine_handle<> waiting)
      : slot_(&slot), waiting_(waiting) {}

  void operator()(T value) {
    slot_->emplace(std::move(value));
    waiting_.resume();
  }

 private:
  std::optional<T>* slot_;
  std::coroutine_handle<> waiting_;
};

// Awaitable that calls `start(Resumer<T>)` and waits until the resumer is called. `start` must do
// nothing after it has given the resumer away: the awaiting coroutine may be gone by then.
//
//   auto start = [&](Resumer<int> resume) { queue.Push(std::move(resume)); };
//   CallbackAwaitable<int, decltype(start)> pushed(start);
//   int value = co_await pushed;
template <class T, class Start>
class CallbackAwaitable {
 public:
  explicit CallbackAwaitable(Start& start) : start_(start) {}

  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) { start_(Resumer<T>(value_, waiting)); }
  T await_resume() { return *std::move(value_); }

 private:
  Start& start_;
  std::optional<T> value_;
};

}  // namespace counter

#endif  // COUNTER_BASE_TASK_H_
