#include "base/task.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace counter {
namespace {

Task<int> Answer(int value) { co_return value; }

Task<int> Sum(std::vector<int> values) {
  int sum = 0;
  for (int value : values) {
    Task<int> one = Answer(value);
    sum += co_await std::move(one);
  }
  co_return sum;
}

// Completes on a thread of its own.
Task<std::string> OnAnotherThread(std::vector<std::thread>& threads) {
  auto start = [&threads](Resumer<std::string> resume) {
    threads.emplace_back([resume]() mutable { resume("there"); });
  };
  CallbackAwaitable<std::string, decltype(start)> started(start);
  co_return co_await started;
}

// Says when its frame is gone.
struct Flag {
  explicit Flag(bool& gone) : gone_(&gone) {}
  Flag(Flag&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)) {}
  ~Flag() {
    if (gone_ != nullptr) *gone_ = true;
  }
  bool* gone_;
};

Task<> Holds(Flag flag) {
  (void)flag;
  co_return;
}

TEST_CASE("a task yields the value that its coroutine returned") {
  CHECK(BlockingWait(Sum({1, 2, 3})) == 6);
}

TEST_CASE("a task can yield a value that only moves") {
  auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  CHECK(*BlockingWait(make()) == 7);
}

TEST_CASE("a task that waits for another thread goes on when that thread answers") {
  std::vector<std::thread> threads;
  CHECK(BlockingWait(OnAnotherThread(threads)) == "there");
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a task does not run before it is awaited") {
  bool ran = false;
  auto make = [](bool& flag) -> Task<> {
    flag = true;
    co_return;
  };
  Task<> task = make(ran);
  CHECK_FALSE(ran);
  BlockingWait(std::move(task));
  CHECK(ran);
}

TEST_CASE("a task that is never awaited frees its parameters") {
  bool gone = false;
  {
    Task<> task = Holds(Flag(gone));
    CHECK_FALSE(gone);
  }
  CHECK(gone);
}

TEST_CASE("a spawned task frees its parameters at its end") {
  bool gone = false;
  Spawn(Holds(Flag(gone)));
  CHECK(gone);
}

}  // namespace
}  // namespace counter
