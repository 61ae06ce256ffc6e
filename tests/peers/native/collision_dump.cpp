// Signed distances of pairs of convex shapes for the comparison with Coal (test_coal.py).
//
//   collision_dump IN OUT
//
// Both are doubles. IN: the number of hulls and for each its number of points and these; then pairs, each as two shapes
// (kind, three sizes, three columns of the rotation, position). Kinds: sphere 0, capsule 1, box 2, hull 3 (its size is
// its number), ellipsoid 4, cylinder 5, cone 6. OUT: for each pair status, distance, normal, point on A, point on B.
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "touchstone/collision/narrow/query.hpp"

namespace {

using namespace touchstone;

class Reader {
 public:
  explicit Reader(const char* path) : file_(path, std::ios::binary) {}
  bool more() { return file_.peek() != std::ifstream::traits_type::eof(); }
  double number() {
    double value = 0.0;
    if (!file_.read(reinterpret_cast<char*>(&value), sizeof(value))) throw std::runtime_error("the input ends early");
    return value;
  }
  Vector3 vector() {
    const double x = number(), y = number(), z = number();
    return {x, y, z};
  }

 private:
  std::ifstream file_;
};

ConvexShape make_shape(int kind, const Vector3& size, const std::vector<ConvexShape>& hulls) {
  switch (kind) {
    case 0:
      return ConvexShape::sphere(size[0]);
    case 1:
      return ConvexShape::capsule(size[0], size[1]);
    case 2:
      return ConvexShape::box(size);
    case 3:
      return hulls.at(static_cast<std::size_t>(size[0]));
    case 4:
      return ConvexShape::ellipsoid(size);
    case 5:
      return ConvexShape::cylinder(size[0], size[1]);
    default:
      return ConvexShape::cone(size[0], size[1]);
  }
}

struct Placed {
  ConvexShape shape;
  Pose X;
};

Placed read_shape(Reader& in, const std::vector<ConvexShape>& hulls) {
  const int kind = static_cast<int>(in.number());
  const Vector3 size = in.vector();
  const Vec3 c0(in.vector()), c1(in.vector()), c2(in.vector()), p(in.vector());
  return {make_shape(kind, size, hulls), Pose(Mat3(c0, c1, c2), p)};
}

void run(const char* input, const char* output) {
  Reader in(input);
  std::vector<ConvexShape> hulls;
  const int count = static_cast<int>(in.number());
  for (int i = 0; i < count; ++i) {
    std::vector<Vector3> points(static_cast<std::size_t>(in.number()));
    for (Vector3& p : points) p = in.vector();
    hulls.push_back(ConvexShape::polytope(points));
  }
  QueryWorkspace workspace;
  std::vector<double> results;
  while (in.more()) {
    const Placed A = read_shape(in, hulls), B = read_shape(in, hulls);
    const ContactResult c = collide(A.shape, A.X, B.shape, B.X, workspace);
    results.push_back(static_cast<double>(c.status));
    results.push_back(c.distance);
    for (const Vec3 v : {c.normal, c.point_A, c.point_B}) {
      for (int k = 0; k < 3; ++k) results.push_back(v[k]);
    }
  }
  std::ofstream out(output, std::ios::binary);
  out.write(reinterpret_cast<const char*>(results.data()),
            static_cast<std::streamsize>(results.size() * sizeof(double)));
  if (!out) throw std::runtime_error("cannot write the output");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw std::runtime_error("usage: collision_dump IN OUT");
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
