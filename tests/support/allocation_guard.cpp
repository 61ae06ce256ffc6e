#include "support/allocation_guard.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TOUCHSTONE_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOUCHSTONE_SANITIZED
#endif
#if defined(__GLIBC__) && !defined(TOUCHSTONE_SANITIZED)
#define TOUCHSTONE_COUNTS_ALLOCATIONS
#endif

namespace {

std::atomic<std::size_t> count{0};

}  // namespace

#ifdef TOUCHSTONE_COUNTS_ALLOCATIONS

// glibc lets a program replace malloc; these count and hand on to glibc's own, so free() stays as it is.
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(number, size);
}

void* realloc(void* old, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  void* const block = memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *result = block;
  return 0;
}

}  // extern "C"

#endif

namespace touchstone::test {

AllocationGuard::AllocationGuard() : start_(count.load()) {}

std::size_t AllocationGuard::allocations() const { return count.load() - start_; }

bool AllocationGuard::available() {
#ifdef TOUCHSTONE_COUNTS_ALLOCATIONS
  return true;
#else
  return false;
#endif
}

}  // namespace touchstone::test
