// Compiled with the flags of the library, whose macros it records.

#include "touchstone/base/cpu_features.hpp"

namespace touchstone::detail {

constinit const CpuFeatures kCompiledFor{
#ifdef __SSE4_2__
    .sse42 = true,
#endif
#ifdef __POPCNT__
    .popcnt = true,
#endif
#ifdef __AVX__
    .avx = true,
#endif
#ifdef __AVX2__
    .avx2 = true,
#endif
#ifdef __FMA__
    .fma = true,
#endif
#ifdef __BMI__
    .bmi = true,
#endif
#ifdef __BMI2__
    .bmi2 = true,
#endif
#ifdef __AVX512F__
    .avx512f = true,
#endif
#ifdef __AVX512DQ__
    .avx512dq = true,
#endif
#ifdef __AVX512BW__
    .avx512bw = true,
#endif
#ifdef __AVX512VL__
    .avx512vl = true,
#endif
};

}  // namespace touchstone::detail
