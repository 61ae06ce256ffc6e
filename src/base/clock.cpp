#include "touchstone/base/clock.hpp"

#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace touchstone {
namespace {

#if defined(__x86_64__)
// Whether the counter goes on at one rate, whatever the processor's frequency and sleep.
bool counter_is_steady() {
  constexpr unsigned kPowerLeaf = 0x80000007, kInvariant = 1U << 8;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kPowerLeaf, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
}
std::int64_t counter() { return static_cast<std::int64_t>(__builtin_ia32_rdtsc()); }
#else
bool counter_is_steady() { return false; }
std::int64_t counter() { return 0; }
#endif

std::int64_t nanoseconds() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool uses_counter() {
  static const bool uses = counter_is_steady();
  return uses;
}

// Both clocks at one moment: of several readings the one in which the least time passed between them, since a thread
// may lose the processor anywhere.
struct Moment {
  std::int64_t nanoseconds = 0, ticks = 0;
};
Moment read_both() {
  constexpr int kReadings = 8;
  Moment best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t before = counter(), time = nanoseconds(), passed = counter() - before;
    if (passed >= least) continue;
    least = passed;
    best = {time, before + passed / 2};
  }
  return best;
}

double measure_tick() {
  constexpr double kNanosecond = 1e-9;
  constexpr std::int64_t kMeasure = 200'000;  // nanoseconds
  if (!uses_counter()) return kNanosecond;
  const Moment start = read_both();
  while (nanoseconds() - start.nanoseconds < kMeasure) {
  }
  const Moment end = read_both();
  if (end.ticks <= start.ticks) return kNanosecond;
  return kNanosecond * static_cast<double>(end.nanoseconds - start.nanoseconds) /
         static_cast<double>(end.ticks - start.ticks);
}

}  // namespace

std::int64_t QuickWatch::ticks() { return uses_counter() ? counter() : nanoseconds(); }

double QuickWatch::seconds_per_tick() {
  static const double tick = measure_tick();
  return tick;
}

}  // namespace touchstone
