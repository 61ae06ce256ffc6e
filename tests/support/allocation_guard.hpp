#pragma once

#include <cstddef>

namespace touchstone::test {

// Counts the heap allocations of the whole process, all threads, since it was made. It counts
// malloc and its kin, for Eigen allocates past operator new.
//
//   if (!AllocationGuard::available()) GTEST_SKIP() << "allocations are not counted in this build";
//   const AllocationGuard guard;
//   simulator.step();
//   EXPECT_EQ(guard.allocations(), 0u);
class AllocationGuard {
 public:
  AllocationGuard();

  std::size_t allocations() const;

  // False beside a sanitizer, which brings its own allocator, and without glibc.
  static bool available();

 private:
  std::size_t start_;
};

}  // namespace touchstone::test
