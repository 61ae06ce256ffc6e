#include "touchstone/model/pinocchio_layout.hpp"

#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"

namespace touchstone {
namespace {

void check_size(const char* what, const ConstVectorRef& vector, int expected) {
  if (vector.size() != expected) throw Error("{} has {} entries, the layout needs {}", what, vector.size(), expected);
}

// "knee/1" -> "knee"; other names as they are.
std::string whole_name(const std::string& part) {
  const bool first = part.size() > 2 && part.compare(part.size() - 2, 2, "/1") == 0;
  return first ? part.substr(0, part.size() - 2) : part;
}

// The velocity of the linear part in Pinocchio's axes turns with the body: this is -w x R' v.
Vector3 turning(const Vector3& angular, const Vector3& linear_in_body) { return -angular.cross(linear_in_body); }

}  // namespace

PinocchioLayout::Parts PinocchioLayout::find_parts(const Model& model, const std::string& name) {
  const int single = model.find(ElementKind::kJoint, name);
  if (single >= 0) return {single, 1};
  Parts parts{model.find(ElementKind::kJoint, name + "/1"), 0};
  if (parts.first < 0) throw Error("the model has no joint '{}'", name);
  const auto is_next = [&](int joint) {
    return joint < model.njoint &&
           model.joints[static_cast<std::size_t>(joint)].name == fmt::format("{}/{}", name, parts.count + 1);
  };
  while (is_next(parts.first + parts.count)) ++parts.count;
  return parts;
}

std::vector<std::string> PinocchioLayout::own_names(const Model& model) {
  std::vector<std::string> names;
  for (int j = 0; j < model.njoint;) {
    const std::string& name = model.joints[static_cast<std::size_t>(j)].name;
    const std::string whole = whole_name(name);
    const bool composite = whole != name && model.find(ElementKind::kJoint, whole) < 0;
    names.push_back(composite ? whole : name);
    j += find_parts(model, names.back()).count;
  }
  return names;
}

PinocchioLayout::PinocchioLayout(const Model& model, const std::vector<std::string>& joint_names,
                                 const std::vector<bool>& continuous)
    : our_nq_(model.nq) {
  const std::vector<std::string> names = joint_names.empty() ? own_names(model) : joint_names;
  if (!continuous.empty() && continuous.size() != names.size()) {
    throw Error("there are {} flags for {} joints; give one for each, or none", continuous.size(), names.size());
  }
  std::vector<bool> used(static_cast<std::size_t>(model.njoint), false);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Parts parts = find_parts(model, names[i]);
    for (int j = parts.first; j < parts.first + parts.count; ++j) {
      if (used[static_cast<std::size_t>(j)]) throw Error("joint '{}' is listed twice", names[i]);
      used[static_cast<std::size_t>(j)] = true;
    }
    add_entry(model, parts, !continuous.empty() && continuous[i]);
  }
  for (std::size_t j = 0; j < used.size(); ++j) {
    if (!used[j]) throw Error("joint '{}' is missing in the list", model.joints[j].name);
  }
}

void PinocchioLayout::add_entry(const Model& model, const Parts& parts, bool continuous) {
  const auto joint = [&](int i) -> const Joint& { return model.joints[parts.first + i]; };
  Entry entry;
  entry.our_q = model.joint_q[static_cast<std::size_t>(parts.first)];
  entry.our_v = model.joint_dof[static_cast<std::size_t>(parts.first)];
  entry.their_q = nq_;
  entry.their_v = nv_;
  entry.size = parts.count;
  if (parts.count == 1 && joint(0).type == JointType::kFree) {
    entry.kind = Kind::kFree;
    entry.placement = model.bodies[static_cast<std::size_t>(joint(0).body)].pose;
  } else if (parts.count == 4 && joint(3).type == JointType::kBall) {
    entry.kind = Kind::kFree;  // slides and a ball: relative to the placement already
  } else if (parts.count == 1 && joint(0).type == JointType::kBall) {
    entry.kind = Kind::kBall;
  } else if (parts.count == 3 && joint(0).type == JointType::kSlide && joint(1).type == JointType::kSlide &&
             joint(2).type == JointType::kHinge) {
    entry.kind = Kind::kPlanar;
  } else if (continuous && parts.count == 1 && joint(0).type == JointType::kHinge) {
    entry.kind = Kind::kContinuous;
  }
  for (int i = 0; entry.kind == Kind::kSame && i < parts.count; ++i) {
    if (!is_scalar(joint(i))) throw Error("joint '{}' has no counterpart in Pinocchio", joint(i).name);
  }
  if (continuous && entry.kind != Kind::kContinuous) {
    throw Error("joint '{}' is flagged as continuous but is no hinge", joint(0).name);
  }
  static constexpr int kNq[] = {0, 2, 7, 4, 4}, kNv[] = {0, 1, 6, 3, 3};
  nq_ += entry.kind == Kind::kSame ? entry.size : kNq[static_cast<int>(entry.kind)];
  nv_ += entry.kind == Kind::kSame ? entry.size : kNv[static_cast<int>(entry.kind)];
  entries_.push_back(entry);
}

VectorX PinocchioLayout::q_to_pinocchio(const ConstVectorRef& q) const {
  check_size("q", q, our_nq_);
  VectorX out(nq_);
  for (const Entry& e : entries_) {
    switch (e.kind) {
      case Kind::kSame:
        out.segment(e.their_q, e.size) = q.segment(e.our_q, e.size);
        break;
      case Kind::kContinuous:
        out.segment<2>(e.their_q) << std::cos(q[e.our_q]), std::sin(q[e.our_q]);
        break;
      case Kind::kBall:
        out.segment<4>(e.their_q) << q.segment<3>(e.our_q + 1), q[e.our_q];
        break;
      case Kind::kPlanar:
        out.segment<4>(e.their_q) << q.segment<2>(e.our_q), std::cos(q[e.our_q + 2]), std::sin(q[e.our_q + 2]);
        break;
      case Kind::kFree: {
        const Vector3 p = q.segment<3>(e.our_q);
        const Quaternion rotation(q[e.our_q + 3], q[e.our_q + 4], q[e.our_q + 5], q[e.our_q + 6]);
        const Transform X = e.placement.inverse() * Transform{p, rotation};
        out.segment<7>(e.their_q) << X.position, X.rotation.coeffs();
        break;
      }
    }
  }
  return out;
}

VectorX PinocchioLayout::q_from_pinocchio(const ConstVectorRef& q) const {
  check_size("q", q, nq_);
  VectorX out(our_nq_);
  for (const Entry& e : entries_) {
    switch (e.kind) {
      case Kind::kSame:
        out.segment(e.our_q, e.size) = q.segment(e.their_q, e.size);
        break;
      case Kind::kContinuous:
        out[e.our_q] = std::atan2(q[e.their_q + 1], q[e.their_q]);
        break;
      case Kind::kBall:
        out.segment<4>(e.our_q) << q[e.their_q + 3], q.segment<3>(e.their_q);
        break;
      case Kind::kPlanar:
        out.segment<3>(e.our_q) << q.segment<2>(e.their_q), std::atan2(q[e.their_q + 3], q[e.their_q + 2]);
        break;
      case Kind::kFree: {
        const Vector3 p = q.segment<3>(e.their_q);
        const Quaternion rotation(q[e.their_q + 6], q[e.their_q + 3], q[e.their_q + 4], q[e.their_q + 5]);
        const Transform X = e.placement * Transform{p, rotation};
        out.segment<7>(e.our_q) << X.position, X.rotation.w(), X.rotation.vec();
        break;
      }
    }
  }
  return out;
}

Matrix3 PinocchioLayout::rotation(const Entry& e, const ConstVectorRef& q) const {
  if (e.kind == Kind::kPlanar) {
    return Eigen::AngleAxisd(q[e.our_q + 2], Vector3::UnitZ()).toRotationMatrix();
  }
  return Quaternion(q[e.our_q + 3], q[e.our_q + 4], q[e.our_q + 5], q[e.our_q + 6]).normalized().toRotationMatrix();
}

MatrixX PinocchioLayout::velocity_map(const ConstVectorRef& q) const {
  check_size("q", q, our_nq_);
  MatrixX T = MatrixX::Zero(nv_, nv_);
  for (const Entry& e : entries_) {
    switch (e.kind) {
      case Kind::kSame:
        T.block(e.their_v, e.our_v, e.size, e.size).setIdentity();
        break;
      case Kind::kContinuous:
        T(e.their_v, e.our_v) = 1.0;
        break;
      case Kind::kBall:
        T.block<3, 3>(e.their_v, e.our_v).setIdentity();
        break;
      case Kind::kPlanar:
        T.block<2, 2>(e.their_v, e.our_v) = rotation(e, q).topLeftCorner<2, 2>().transpose();
        T(e.their_v + 2, e.our_v + 2) = 1.0;
        break;
      case Kind::kFree:
        T.block<3, 3>(e.their_v, e.our_v) = rotation(e, q).transpose();
        T.block<3, 3>(e.their_v + 3, e.our_v + 3).setIdentity();
        break;
    }
  }
  return T;
}

VectorX PinocchioLayout::v_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v) const {
  check_size("v", v, nv_);
  return velocity_map(q) * v;
}

VectorX PinocchioLayout::v_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v) const {
  check_size("v", v, nv_);
  return velocity_map(q).transpose() * v;
}

VectorX PinocchioLayout::acceleration_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v,
                                                   const ConstVectorRef& a) const {
  check_size("a", a, nv_);
  const VectorX their_v = v_to_pinocchio(q, v);
  VectorX out = velocity_map(q) * a;
  for (const Entry& e : entries_) {
    if (e.kind == Kind::kFree) {
      out.segment<3>(e.their_v) += turning(their_v.segment<3>(e.their_v + 3), their_v.segment<3>(e.their_v));
    } else if (e.kind == Kind::kPlanar) {
      const Vector3 linear(their_v[e.their_v], their_v[e.their_v + 1], 0.0);
      out.segment<2>(e.their_v) += turning(Vector3(0.0, 0.0, their_v[e.their_v + 2]), linear).head<2>();
    }
  }
  return out;
}

VectorX PinocchioLayout::acceleration_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& v,
                                                     const ConstVectorRef& a) const {
  check_size("a", a, nv_);
  const VectorX bias = acceleration_to_pinocchio(q, v_from_pinocchio(q, v), VectorX::Zero(nv_));
  return velocity_map(q).transpose() * (a - bias);
}

VectorX PinocchioLayout::force_to_pinocchio(const ConstVectorRef& q, const ConstVectorRef& force) const {
  check_size("force", force, nv_);
  return velocity_map(q) * force;  // orthogonal: its inverse transpose is itself
}

VectorX PinocchioLayout::force_from_pinocchio(const ConstVectorRef& q, const ConstVectorRef& force) const {
  check_size("force", force, nv_);
  return velocity_map(q).transpose() * force;
}

}  // namespace touchstone
