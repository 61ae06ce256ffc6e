#include "touchstone/base/thread_pool.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

TEST(ThreadPool, DoesEveryIndexOnce) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int count : {0, 1, 3, 1000}) {
      std::vector<int> calls(static_cast<std::size_t>(count), 0);
      pool.run(count, [&](int index, int worker) {
        EXPECT_LT(worker, threads);
        ++calls[static_cast<std::size_t>(index)];
      });
      for (const int n : calls) EXPECT_EQ(n, 1);
    }
  }
}

TEST(ThreadPool, AnExceptionComesOutWhenAllAreDone) {
  ThreadPool pool(3);
  std::vector<int> calls(100, 0);
  const auto task = [&](int index, int) {
    ++calls[static_cast<std::size_t>(index)];
    if (index == 7) throw Error("seven");
  };
  EXPECT_THROW(pool.run(100, task), Error);
  for (const int n : calls) EXPECT_EQ(n, 1);
  EXPECT_NO_THROW(pool.run(5, [](int, int) {}));
}

TEST(ThreadPool, RunAllocatesNothing) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  ThreadPool pool(2);
  std::vector<double> x(64, 0.0);
  const auto task = [&](int index, int) { x[static_cast<std::size_t>(index)] += index; };
  pool.run(64, task);
  const test::AllocationGuard guard;
  for (int i = 0; i < 100; ++i) pool.run(64, task);
  EXPECT_EQ(guard.allocations(), 0u);
  EXPECT_EQ(x[63], 101 * 63.0);
}

TEST(ThreadPool, RefusesNumbersThatMakeNoSense) {
  EXPECT_THROW(ThreadPool{-1}, Error);
  EXPECT_THROW(ThreadPool{ThreadPool::kMostThreads + 1}, Error);
  EXPECT_THROW(ThreadPool{std::numeric_limits<int>::max()}, Error);
}

}  // namespace
}  // namespace touchstone
