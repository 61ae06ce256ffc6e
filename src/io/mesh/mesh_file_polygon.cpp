#include "touchstone/io/mesh/mesh_file_parts.hpp"

namespace touchstone {
namespace {

// Cutting ears takes time with the cube of the corners; no sensible file has larger concave faces.
constexpr std::size_t kMostCornersForEars = 200;

// Area vector of a polygon (Newell): its normal, even if it is warped or concave.
Vector3 area_vector(std::span<const int> corners, const std::vector<Vector3>& v) {
  Vector3 sum = Vector3::Zero();
  for (std::size_t i = 1; i + 1 < corners.size(); ++i) {
    sum += (v[corners[i]] - v[corners[0]]).cross(v[corners[i + 1]] - v[corners[0]]);
  }
  return sum;
}

class EarCutter {
 public:
  EarCutter(std::span<const int> corners, TriangleMesh& mesh)
      : corners_(corners.begin(), corners.end()), mesh_(mesh), normal_(area_vector(corners, mesh.vertices)) {}

  bool fan_stays_inside() const {
    for (std::size_t i = 1; i + 1 < corners_.size(); ++i) {
      if (side(corners_[0], corners_[i], corners_[i + 1]) < 0.0) return false;
    }
    return true;
  }

  void add_fan() {
    for (std::size_t i = 1; i + 1 < corners_.size(); ++i) {
      mesh_.triangles.emplace_back(corners_[0], corners_[i], corners_[i + 1]);
    }
  }

  // Whatever has no ear any more (a face that crosses itself) ends as a fan.
  void add_ears() {
    while (corners_.size() > 3 && cut_one()) continue;
    add_fan();
  }

 private:
  // Positive if a, b, c turn left seen against the normal.
  double side(int a, int b, int c) const {
    const std::vector<Vector3>& v = mesh_.vertices;
    return normal_.dot((v[b] - v[a]).cross(v[c] - v[a]));
  }

  bool is_ear(int a, int b, int c) const {
    if (side(a, b, c) <= 0.0) return false;
    for (const int p : corners_) {
      if (p == a || p == b || p == c) continue;
      if (side(a, b, p) >= 0.0 && side(b, c, p) >= 0.0 && side(c, a, p) >= 0.0) return false;
    }
    return true;
  }

  bool cut_one() {
    const std::size_t n = corners_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const int a = corners_[(i + n - 1) % n], b = corners_[i], c = corners_[(i + 1) % n];
      if (!is_ear(a, b, c)) continue;
      mesh_.triangles.emplace_back(a, b, c);
      corners_.erase(corners_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  std::vector<int> corners_;
  TriangleMesh& mesh_;
  Vector3 normal_;
};

}  // namespace

void add_polygon(std::span<const int> c, TriangleMesh& mesh) {
  const std::vector<Vector3>& v = mesh.vertices;
  if (c.size() == 3) {
    mesh.triangles.emplace_back(c[0], c[1], c[2]);
  } else if (c.size() == 4) {
    const bool first_is_shorter = (v[c[2]] - v[c[0]]).squaredNorm() < (v[c[3]] - v[c[1]]).squaredNorm();
    mesh.triangles.emplace_back(c[0], c[1], first_is_shorter ? c[2] : c[3]);
    mesh.triangles.emplace_back(first_is_shorter ? c[0] : c[1], c[2], c[3]);
  } else {
    EarCutter cutter(c, mesh);
    if (c.size() > kMostCornersForEars || cutter.fan_stays_inside()) {
      cutter.add_fan();
    } else {
      cutter.add_ears();
    }
  }
}

}  // namespace touchstone
