#include "tests/support/workers.h"

#include <latch>
#include <thread>
#include <vector>

namespace counter::testing {

void RunWorkers(int workers, const std::function<void(int worker)>& work) {
  std::latch start(workers);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(workers));
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([&start, &work, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

}  // namespace counter::testing
