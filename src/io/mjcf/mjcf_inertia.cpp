// Mass and inertia of bodies: as written, or inferred from the geoms.
#include <algorithm>
#include <utility>

#include "touchstone/io/mjcf/mjcf_compiler.hpp"
#include "touchstone/io/xml/xml.hpp"

namespace touchstone::mjcf {
namespace {

constexpr double kSmallestMass = 1e-15;  // MuJoCo's mjMINVAL: lighter geoms do not count

bool violates_triangle(const Vector3& moments) {
  // Rounding of a flat body must not count.
  const double tolerance = 1e-12 * moments.maxCoeff();
  return moments.sum() - 2.0 * moments.maxCoeff() < -tolerance;
}

Matrix3 from_principal(const Vector3& moments, const Quaternion& axes) {
  const Matrix3 R = axes.toRotationMatrix();
  const Matrix3 inertia = R * moments.asDiagonal() * R.transpose();
  return 0.5 * (inertia + inertia.transpose());
}

}  // namespace

MassProperties Compiler::explicit_inertia(const BodySpec& body, const std::vector<Transform>& frames) const {
  const InertialSpec& spec = *body.inertial;
  Transform pose = spec.pose.transform();
  MassProperties out;
  out.mass = spec.mass;
  Vector3 moments = spec.diagonal;
  Matrix3 inertia;
  if (spec.full) {
    const std::array<double, 6>& f = *spec.full;
    inertia << f[0], f[3], f[4], f[3], f[1], f[5], f[4], f[5], f[2];
    const PrincipalInertia principal = principal_inertia(inertia);
    moments = principal.moments;
    if (moments.minCoeff() <= 0.0) {
      fail(spec.origin, fmt::format("fullinertia has the principal moment {:.6g}", moments.minCoeff()),
           "all three must be positive");
    }
  }
  if (violates_triangle(moments)) {
    if (!body.compiler->balance_inertia) {
      fail(spec.origin,
           fmt::format("principal moments ({:.6g}, {:.6g}, {:.6g}) are not those of a body", moments[0], moments[1],
                       moments[2]),
           "the sum of two must not be below the third; balanceinertia=\"true\" of <compiler> evens them out");
    }
    moments.setConstant(moments.mean());
    inertia = moments.asDiagonal();
  } else if (!spec.full) {
    inertia = from_principal(moments, pose.rotation);
  }
  out.inertia = inertia;
  out.com = pose.position;
  if (spec.frame < 0) return out;
  return transformed(frames[static_cast<std::size_t>(spec.frame)], out);
}

MassProperties Compiler::geom_inertia(const GeomSpec& geom, const Shape& shape) {
  if (shape.type == ShapeType::kPlane || shape.type == ShapeType::kHeightField) return {};
  MassProperties unit;
  if (shape.type == ShapeType::kMesh)
    unit = assets_.mesh_mass(geom.mesh, geom.element.origin).unit;
  else if (geom.shell_inertia)
    unit = shell_mass_properties(shape, 1.0);
  else
    unit = mass_properties(shape, 1.0);
  const double mass = geom.mass ? *geom.mass : geom.density * unit.mass;
  if (mass <= kSmallestMass) return {};
  return with_mass(unit, mass);
}

// False if no geom has mass.
bool Compiler::inertia_from_geoms(const BodySpec& body, const BodyDraft& draft, MassProperties& out) {
  MassProperties sum;
  bool found = false;
  for (std::size_t i = 0; i < body.geoms.size(); ++i) {
    const GeomSpec& geom = body.geoms[i];
    const int group = geom.element.group;
    if (group < body.compiler->first_inertia_group || group > body.compiler->last_inertia_group) continue;
    if (geom.mass ? *geom.mass <= kSmallestMass : geom.density <= 0.0) continue;
    const MassProperties part = located(geom.element.origin, [&] { return geom_inertia(geom, draft.shapes[i].shape); });
    if (part.mass <= 0.0) continue;
    const MassProperties moved = transformed(draft.shapes[i].pose, part);
    sum = found ? sum + moved : moved;
    found = true;
  }
  if (found) out = std::move(sum);
  return found;
}

void Compiler::bound_inertia(const BodySpec& body, MassProperties& inertia) const {
  const CompilerOptions& c = *body.compiler;
  inertia.mass = std::max(inertia.mass, c.bound_mass);
  if (c.bound_inertia <= 0.0) return;
  PrincipalInertia principal = principal_inertia(inertia.inertia);
  if (principal.moments.minCoeff() >= c.bound_inertia) return;
  principal.moments = principal.moments.cwiseMax(c.bound_inertia);
  inertia.inertia = from_principal(principal.moments, principal.axes);
}

MassProperties Compiler::body_inertia(const BodySpec& body, const BodyDraft& draft,
                                      const std::vector<Transform>& frames) {
  MassProperties out;
  const Switch from_geoms = body.compiler->inertia_from_geom;
  const bool infer = from_geoms == Switch::kTrue || (from_geoms == Switch::kAuto && !body.inertial);
  const bool inferred = infer && inertia_from_geoms(body, draft, out);
  if (!inferred && body.inertial) out = explicit_inertia(body, frames);
  bound_inertia(body, out);
  return out;
}

// A body with joints must have mass and inertia, or a child that is fixed to it must.
void Compiler::check_moving_bodies() const {
  const std::vector<Body>& bodies = builder_.bodies();
  std::vector<bool> moves(bodies.size(), false), has_inertia(bodies.size(), false);
  for (const Joint& joint : builder_.joints()) moves[static_cast<std::size_t>(joint.body)] = true;
  for (std::size_t b = bodies.size() - 1; b > 0; --b) {
    const MassProperties& inertia = bodies[b].inertia;
    const bool enough =
        inertia.mass > kSmallestMass && principal_inertia(inertia.inertia).moments.minCoeff() > kSmallestMass;
    has_inertia[b] = has_inertia[b] || enough;
    if (!moves[b] && has_inertia[b]) has_inertia[static_cast<std::size_t>(bodies[b].parent)] = true;
  }
  for (std::size_t b = 1; b < bodies.size(); ++b) {
    if (!moves[b] || has_inertia[b]) continue;
    const Vector3 diagonal = bodies[b].inertia.inertia.diagonal();
    fail(bodies[b].origin,
         fmt::format("it moves, but its mass is {} and its inertia ({}, {}, {})", bodies[b].inertia.mass, diagonal[0],
                     diagonal[1], diagonal[2]),
         "give it an <inertial> or geoms with mass");
  }
}

void Compiler::scale_to_total_mass() {
  const double wanted = spec_.compiler->total_mass;
  if (wanted <= 0.0) return;
  double total = 0.0;
  for (const Body& body : builder_.bodies()) total += body.inertia.mass;
  if (total <= 0.0) return;
  for (std::size_t i = 1; i < builder_.bodies().size(); ++i) {
    MassProperties& inertia = builder_.body(static_cast<int>(i)).inertia;
    inertia = with_mass(inertia, inertia.mass * wanted / total);
  }
}

}  // namespace touchstone::mjcf
