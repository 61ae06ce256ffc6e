#include "touchstone/contact/blocks.hpp"

#include <algorithm>
#include <cmath>

#include "touchstone/base/error.hpp"
#include "touchstone/math/cones.hpp"

namespace touchstone {

static_assert(kMaxBlockSize <= kMaxConeSize);

const char* block_type_name(BlockType type) {
  switch (type) {
    case BlockType::kEquality:
      return "equality";
    case BlockType::kNonNegative:
      return "nonnegative";
    case BlockType::kBox:
      return "box";
    case BlockType::kCoulomb:
      return "coulomb";
  }
  return "unknown";
}

void Blocks::clear() {
  type.clear();
  row.resize(1);
  mu.clear();
  lo.clear();
  hi.clear();
}

int Blocks::add(BlockType block_type, int size) {
  if (size < 1 || size > kMaxBlockSize) {
    throw Error("a {} block of {} rows; give 1 to {} rows", block_type_name(block_type), size, kMaxBlockSize);
  }
  type.push_back(block_type);
  row.push_back(row.back() + size);
  for (int r = 0; r < size; ++r) {
    mu.push_back(0.0);
    lo.push_back(0.0);
    hi.push_back(0.0);
  }
  return count() - 1;
}

int Blocks::add_equality(int size) { return add(BlockType::kEquality, size); }

int Blocks::add_nonnegative() { return add(BlockType::kNonNegative, 1); }

int Blocks::add_box(double low, double high) {
  const int block = add(BlockType::kBox, 1);
  lo.back() = low;
  hi.back() = high;
  return block;
}

int Blocks::add_coulomb(const double* friction, int tangents) {
  const int block = add(BlockType::kCoulomb, tangents + 1);
  std::copy(friction, friction + tangents, mu.begin() + row[block]);
  return block;
}

int Blocks::add_coulomb(double friction) {
  const double both[2] = {friction, friction};
  return add_coulomb(both, 2);
}

void project_block(const Blocks& blocks, int block, const double* x, double* y) {
  const int r = blocks.row[block];
  switch (blocks.type[block]) {
    case BlockType::kEquality:
      std::copy(x, x + blocks.size(block), y);
      break;
    case BlockType::kNonNegative:
      y[0] = project_nonnegative(x[0]);
      break;
    case BlockType::kBox:
      y[0] = project_interval(x[0], blocks.lo[r], blocks.hi[r]);
      break;
    case BlockType::kCoulomb:
      project_cone(blocks.size(block), blocks.mu.data() + r, x, y);
      break;
  }
}

void project(const Blocks& blocks, const double* x, double* y) {
  for (int i = 0; i < blocks.count(); ++i) project_block(blocks, i, x + blocks.row[i], y + blocks.row[i]);
}

double de_saxce(const Blocks& blocks, int block, const double* u) {
  if (blocks.type[block] != BlockType::kCoulomb) return 0.0;
  const double* mu = blocks.mu.data() + blocks.row[block];
  double sum = 0.0;
  for (int j = 0; j < blocks.size(block) - 1; ++j) sum += mu[j] * mu[j] * u[j] * u[j];
  return std::sqrt(sum);
}

namespace {

// The usual contact: dimension 3, isotropic friction.
double natural_map_of_contact(double mu, double d, const double* lambda, const double* u, double* out) {
  const double inverse = 1.0 / d;
  const double slip = mu * std::sqrt(u[0] * u[0] + u[1] * u[1]);
  const double point[3] = {lambda[0] - u[0] * inverse, lambda[1] - u[1] * inverse, lambda[2] - (u[2] + slip) * inverse};
  double projected[3];
  project_circular_cone(mu, point, projected);
  for (int k = 0; k < 3; ++k) out[k] = lambda[k] - projected[k];
  return std::sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2]);
}

// A single row of any kind and model.
double natural_map_of_row(const Blocks& blocks, int block, double d, double lambda, double u, double& out) {
  const int r = blocks.row[block];
  double point = lambda - u / d;
  switch (blocks.type[block]) {
    case BlockType::kEquality:
      break;
    case BlockType::kNonNegative:
    case BlockType::kCoulomb:
      point = project_nonnegative(point);
      break;
    case BlockType::kBox:
      point = project_interval(point, blocks.lo[r], blocks.hi[r]);
      break;
  }
  out = lambda - point;
  return std::abs(out);
}

// Signorini's and Coulomb's laws apart.
double natural_map_of_laws(int m, const double* mu, double d, const double* lambda, const double* u, double* out) {
  double point[kMaxBlockSize];
  for (int k = 0; k < m; ++k) point[k] = lambda[k] - u[k] / d;
  project_ellipsoid(m - 1, mu, project_nonnegative(lambda[m - 1]), point, point);
  point[m - 1] = project_nonnegative(point[m - 1]);
  double sum = 0.0;
  for (int k = 0; k < m; ++k) {
    out[k] = lambda[k] - point[k];
    sum += out[k] * out[k];
  }
  return std::sqrt(sum);
}

bool has_large_friction(int m, const double* mu) {
  return std::any_of(mu, mu + m - 1, [](double value) { return value > kLargeFriction; });
}

}  // namespace

double natural_map_block(const Blocks& blocks, int block, ContactModel model, double d, const double* lambda,
                         const double* u, double* out) {
  const int m = blocks.size(block);
  if (m == 1) return natural_map_of_row(blocks, block, d, lambda[0], u[0], out[0]);
  if (blocks.type[block] == BlockType::kCoulomb && model == ContactModel::kNcp) {
    const double* mu = blocks.mu.data() + blocks.row[block];
    if (has_large_friction(m, mu)) return natural_map_of_laws(m, mu, d, lambda, u, out);
    if (m == 3 && mu[0] == mu[1]) return natural_map_of_contact(mu[0], d, lambda, u, out);
  }
  double point[kMaxBlockSize];
  for (int k = 0; k < m; ++k) point[k] = lambda[k] - u[k] / d;
  if (model == ContactModel::kLcp && blocks.type[block] == BlockType::kCoulomb) {
    const double* mu = blocks.mu.data() + blocks.row[block];
    const double normal = std::max(0.0, lambda[m - 1]);
    for (int j = 0; j < m - 1; ++j) point[j] = project_interval(point[j], -mu[j] * normal, mu[j] * normal);
    point[m - 1] = project_nonnegative(point[m - 1]);
  } else {
    if (model == ContactModel::kNcp) point[m - 1] -= de_saxce(blocks, block, u) / d;
    project_block(blocks, block, point, point);
  }
  double sum = 0.0;
  for (int k = 0; k < m; ++k) {
    out[k] = lambda[k] - point[k];
    sum += out[k] * out[k];
  }
  return std::sqrt(sum);
}

}  // namespace touchstone
