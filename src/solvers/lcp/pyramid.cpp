#include "touchstone/solvers/lcp/pyramid.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace touchstone {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kNatvFloor = 4.5e-16;  // see contact/certify.hpp

// The nearest point of the segment from a to b; returns the squared distance.
double nearest_on_segment(const double* a, const double* b, const double* point, double* nearest) {
  const double dx = b[0] - a[0], dy = b[1] - a[1];
  const double length2 = dx * dx + dy * dy;
  const double along = length2 > 0.0 ? ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / length2 : 0.0;
  const double t = project_interval(along, 0.0, 1.0);
  nearest[0] = a[0] + t * dx;
  nearest[1] = a[1] + t * dy;
  const double ex = point[0] - nearest[0], ey = point[1] - nearest[1];
  return ex * ex + ey * ey;
}

}  // namespace

bool Pyramid::valid(int facets, std::string& message) {
  if (facets >= 4 && facets <= kMaxFacets && facets % 4 == 0) return true;
  message = fmt::format("a friction pyramid of {} facets; give a multiple of 4 up to {}", facets, kMaxFacets);
  return false;
}

Pyramid::Pyramid(int facets) : facets_(facets) {
  const double radius = 1.0 / std::cos(kPi / facets);
  for (int j = 0; j < std::min(facets, kMaxFacets); ++j) {
    const double angle = (2 * j + 1) * kPi / facets;
    corner_[static_cast<std::size_t>(j)] = {radius * std::cos(angle), radius * std::sin(angle)};
  }
}

void Pyramid::project_pair(const double* mu, double radius, const double* point, double* result) const {
  const double scaled[2] = {point[0] / mu[0], point[1] / mu[1]};
  // The facet whose normal is nearest in direction is the one that is violated most.
  const double nearest = std::round(std::atan2(scaled[1], scaled[0]) * facets_ / (2.0 * kPi)) * 2.0 * kPi / facets_;
  if (std::cos(nearest) * scaled[0] + std::sin(nearest) * scaled[1] <= radius) {
    result[0] = point[0];
    result[1] = point[1];
    return;
  }
  double best = -1.0, answer[2] = {0.0, 0.0};
  for (int j = 0; j < facets_; ++j) {
    const double *p = corner(j), *q = corner((j + 1) % facets_);
    const double a[2] = {radius * mu[0] * p[0], radius * mu[1] * p[1]};
    const double b[2] = {radius * mu[0] * q[0], radius * mu[1] * q[1]};
    double candidate[2];
    const double distance = nearest_on_segment(a, b, point, candidate);
    if (best < 0.0 || distance < best) {
      best = distance;
      answer[0] = candidate[0];
      answer[1] = candidate[1];
    }
  }
  result[0] = answer[0];
  result[1] = answer[1];
}

void Pyramid::project_tangent(int m, const double* mu, double normal, const double* point, double* result) const {
  const double radius = std::max(0.0, normal);
  for (int j = 0; j < m - 1; ++j) {
    if (is_pair(m, mu, j)) {
      project_pair(mu + j, radius, point + j, result + j);
      ++j;
    } else {
      result[j] = project_interval(point[j], -mu[j] * radius, mu[j] * radius);
    }
  }
}

double pyramid_natv(const DualProblem& dual, const Pyramid& pyramid, const VectorX& lambda, const VectorX& u) {
  double worst = 0.0;
  double point[kMaxBlockSize];
  for (int i = 0; i < dual.nblock(); ++i) {
    const int r = dual.blocks.row[i], m = dual.blocks.size(i);
    const double* own = lambda.data() + r;
    double size = 0.0, length = 0.0;
    if (dual.blocks.type[i] == BlockType::kCoulomb) {
      for (int k = 0; k < m; ++k) point[k] = own[k] - u[r + k] / dual.d[i];
      pyramid.project_tangent(m, dual.blocks.mu.data() + r, own[m - 1], point, point);
      point[m - 1] = project_nonnegative(point[m - 1]);
      for (int k = 0; k < m; ++k) size += (own[k] - point[k]) * (own[k] - point[k]);
      size = std::sqrt(size);
    } else {
      size = natural_map_block(dual.blocks, i, ContactModel::kLcp, dual.d[i], own, u.data() + r, point);
    }
    for (int k = 0; k < m; ++k) length += own[k] * own[k];
    const double floor = kNatvFloor * std::sqrt(length);
    const double value = dual.weight[i] * (size < floor ? floor : size);
    if (!(value <= worst)) worst = value;  // NaN wins
  }
  return worst;
}

}  // namespace touchstone
