// This file and error.cpp are compiled for the plainest processor of the family, so that the check
// itself runs everywhere. It must not call inline functions of other headers of ours.

#include "touchstone/base/cpu.hpp"

#include <string>
#include <utility>

#include "touchstone/base/cpu_features.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

std::string missing_instructions() {
  std::string missing;
#if defined(__x86_64__)
  const auto need = [&missing](bool compiled_for, bool supported, const char* name) {
    if (!compiled_for || supported) return;
    if (!missing.empty()) missing += ", ";
    missing += name;
  };
  const detail::CpuFeatures& wanted = detail::kCompiledFor;
  __builtin_cpu_init();
  need(wanted.sse42, __builtin_cpu_supports("sse4.2"), "SSE4.2");
  need(wanted.popcnt, __builtin_cpu_supports("popcnt"), "POPCNT");
  need(wanted.avx, __builtin_cpu_supports("avx"), "AVX");
  need(wanted.avx2, __builtin_cpu_supports("avx2"), "AVX2");
  need(wanted.fma, __builtin_cpu_supports("fma"), "FMA");
  need(wanted.bmi, __builtin_cpu_supports("bmi"), "BMI");
  need(wanted.bmi2, __builtin_cpu_supports("bmi2"), "BMI2");
  need(wanted.avx512f, __builtin_cpu_supports("avx512f"), "AVX512F");
  need(wanted.avx512dq, __builtin_cpu_supports("avx512dq"), "AVX512DQ");
  need(wanted.avx512bw, __builtin_cpu_supports("avx512bw"), "AVX512BW");
  need(wanted.avx512vl, __builtin_cpu_supports("avx512vl"), "AVX512VL");
#endif
  return missing;
}

}  // namespace

void require_supported_cpu() {
  const std::string missing = missing_instructions();
  if (missing.empty()) return;
  ErrorDetail detail;
  detail.message = "this build of Touchstone needs instructions that this processor lacks: " + missing;
  detail.remedy = "build it with -DTOUCHSTONE_ARCH=native on this machine, or x86-64 for any";
  throw Error(std::move(detail));
}

}  // namespace touchstone
