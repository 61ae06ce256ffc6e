#include "touchstone/collision/derivatives/smoothed_curvature.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "touchstone/collision/narrow/minkowski.hpp"

namespace touchstone {
namespace {

Matrix3 across(Vec3 n) { return Matrix3::Identity() - n.eigen() * n.eigen().transpose(); }

// Sums of a soft-max: weights e^((n.v - n.top) / noise).
class SoftMax {
 public:
  SoftMax(Vec3 n, Vec3 top, double noise) : n_(n), top_(top), noise_(noise) {}

  void add(Vec3 v) {
    const Vec3 arm = v - top_;
    const double weight = std::exp(std::min(0.0, dot(n_, arm) / noise_));
    sum_ += weight;
    mean_ += weight * arm.eigen();
    square_ += weight * arm.eigen() * arm.eigen().transpose();
  }
  Matrix3 curvature() const {
    const Vector3 mean = mean_ / sum_;
    const Matrix3 P = across(n_);
    return P * ((square_ / sum_ - mean * mean.transpose()) / noise_) * P;
  }

 private:
  Vec3 n_, top_;
  double noise_, sum_ = 0.0;
  Vector3 mean_ = Vector3::Zero();
  Matrix3 square_ = Matrix3::Zero();
};

void add_polytope(const Polytope& p, int first, int depth, Neighbourhood& scratch, SoftMax& sums) {
  if (p.first_neighbour.empty()) {
    for (const Vec3 v : p.vertices) sums.add(v);
    return;
  }
  if (scratch.seen.size() < p.vertices.size()) scratch.seen.resize(p.vertices.size(), 0);
  const int call = ++scratch.call;
  std::vector<int>& list = scratch.vertices;
  list.reserve(kMostNeighbours);
  list.assign(1, first);
  scratch.seen[static_cast<std::size_t>(first)] = call;
  std::size_t begin = 0;
  for (int level = 0; level < depth; ++level) {
    const std::size_t end = list.size();
    for (std::size_t k = begin; k < end; ++k) {
      const auto v = static_cast<std::size_t>(list[k]);
      for (int i = p.first_neighbour[v]; i < p.first_neighbour[v + 1]; ++i) {
        const int w = p.neighbours[static_cast<std::size_t>(i)];
        if (scratch.seen[static_cast<std::size_t>(w)] == call || list.size() >= kMostNeighbours) continue;
        scratch.seen[static_cast<std::size_t>(w)] = call;
        list.push_back(w);
      }
    }
    begin = end;
  }
  for (const int v : list) sums.add(p.vertices[static_cast<std::size_t>(v)]);
}

void add_box(Vec3 size, int first, int depth, SoftMax& sums) {
  for (int k = 0; k < 8; ++k) {
    if (std::popcount(static_cast<unsigned>(k ^ first)) > depth) continue;
    sums.add({(k & 1) != 0 ? -size.x() : size.x(), (k & 2) != 0 ? -size.y() : size.y(),
              (k & 4) != 0 ? -size.z() : size.z()});
  }
}

}  // namespace

Matrix3 gaussian_curvature(const ConvexShape& shape, Vec3 n, double noise, const GaussianSamples& samples) {
  const Vec3 e = perpendicular(n), f = cross(n, e);
  int vertex = -1;
  const Vec3 here = shape.support(n, vertex);
  Matrix3 sum = Matrix3::Zero();
  for (int k = 0; k < samples.count(); ++k) {
    const Vec3 z = samples[k][0] * e + samples[k][1] * f;
    const Vec3 moved = shape.support(n + noise * z, vertex) - here;
    sum += moved.eigen() * z.eigen().transpose();
  }
  sum /= noise * samples.count();
  const Matrix3 P = across(n);
  return P * (0.5 * (sum + sum.transpose())) * P;
}

bool gumbel_curvature(const ConvexShape& shape, Vec3 n, double noise, int depth, Neighbourhood& scratch, Matrix3& out) {
  int vertex = -1;
  const Vec3 top = shape.support(n, vertex);
  SoftMax sums(n, top, noise);
  switch (shape.core()) {
    case CoreType::kSegment:
      sums.add(top);
      sums.add({top.x(), top.y(), -top.z()});
      break;
    case CoreType::kTriangle:
      for (int k = 0; k < 3; ++k) sums.add(shape.corners()[k]);
      break;
    case CoreType::kBox:
      add_box(shape.size(), vertex, depth, sums);
      break;
    case CoreType::kPolytope:
      add_polytope(*shape.polytope(), vertex, depth, scratch, sums);
      break;
    default:
      return false;
  }
  out = sums.curvature();
  return true;
}

}  // namespace touchstone
