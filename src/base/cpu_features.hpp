#pragma once

namespace touchstone::detail {

// The instruction sets that the library was compiled for. Constants without code, because the
// processor has not been checked yet when they are read; see cpu.cpp.
struct CpuFeatures {
  bool sse42 = false;
  bool popcnt = false;
  bool avx = false;
  bool avx2 = false;
  bool fma = false;
  bool bmi = false;
  bool bmi2 = false;
  bool avx512f = false;
  bool avx512dq = false;
  bool avx512bw = false;
  bool avx512vl = false;
};

extern const CpuFeatures kCompiledFor;

}  // namespace touchstone::detail
