// Arrays of numbers that kernels work on. Kernels treat the first entries before an aligned address apart, with other
// roundings; so their results are the same from run to run only if arrays always begin at an aligned address.
#pragma once

#include <vector>

#include <Eigen/Core>

namespace touchstone {

using AlignedVector = std::vector<double, Eigen::aligned_allocator<double>>;

}  // namespace touchstone
