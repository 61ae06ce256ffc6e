#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/allocation_guard.hpp"
#include "touchstone/base/clock.hpp"
#include "touchstone/base/cpu.hpp"
#include "touchstone/base/cpu_features.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone {
namespace {

TEST(Cpu, RunsTheTests) { EXPECT_NO_THROW(require_supported_cpu()); }

TEST(Cpu, KnowsWhatTheLibraryWasCompiledFor) {
#ifdef __AVX2__
  EXPECT_TRUE(detail::kCompiledFor.avx2);
#else
  EXPECT_FALSE(detail::kCompiledFor.avx2);
#endif
}

TEST(Version, HasThreeNumbers) {
  int major = -1;
  int minor = -1;
  int patch = -1;
  ASSERT_EQ(std::sscanf(kVersion, "%d.%d.%d", &major, &minor, &patch), 3);
}

TEST(Stopwatch, RunsForwardAndRestarts) {
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const double before = watch.restart();
  EXPECT_GE(before, 0.005);
  EXPECT_GE(watch.seconds(), 0.0);
}

TEST(QuickWatch, AgreesWithTheSystemsClock) {
  QuickWatch quick;
  quick.restart();  // the rate of the counter is known from here on
  double best = 0.0;
  for (int i = 0; i < 5; ++i) {
    // What the thread loses between two readings counts for one clock alone: the best of five tells.
    Stopwatch watch;
    quick.restart();
    while (watch.seconds() < 0.01) {
    }
    const double ratio = quick.restart() / watch.seconds();
    best = i == 0 ? std::abs(ratio - 1.0) : std::min(best, std::abs(ratio - 1.0));
  }
  EXPECT_LT(best, 0.01);
}

TEST(AllocationGuard, CountsEveryWayToAllocate) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  const test::AllocationGuard guard;
  const auto number = std::make_unique<int>(3);
  EXPECT_EQ(guard.allocations(), 1u);
  std::vector<double> values(100);
  EXPECT_EQ(guard.allocations(), 2u);
  void* volatile raw = std::malloc(64);
  std::free(raw);
  EXPECT_EQ(guard.allocations(), 3u);
  void* volatile aligned = std::aligned_alloc(64, 64);
  std::free(aligned);
  EXPECT_EQ(guard.allocations(), 4u);
  EXPECT_EQ(*number, 3);
}

TEST(AllocationGuard, SeesOtherThreadsAndNothingElse) {
  if (!test::AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
  std::vector<int> values(10);
  {
    const test::AllocationGuard guard;
    for (int& value : values) value += 1;
    values.clear();
    EXPECT_EQ(guard.allocations(), 0u);
  }
  const test::AllocationGuard guard;
  std::thread([] {
    void* volatile block = std::malloc(8);
    std::free(block);
  }).join();
  EXPECT_GE(guard.allocations(), 1u);
}

}  // namespace
}  // namespace touchstone
