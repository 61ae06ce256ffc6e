// Pinocchio's side of the dynamics benchmark. Its templates are compiled here with our flags: the wheel's library is
// built for another alignment of Eigen. Models come as text (see pinocchio_model.py), read from the URDF by
// Pinocchio's own parser.
#include <fstream>

#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/algorithm/cholesky.hpp"
#include "pinocchio/algorithm/crba.hpp"
#include "pinocchio/algorithm/rnea.hpp"

#include "harness.hpp"

namespace {

using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using pinocchio::Convention;

Vector3d read_vector(std::istream& in) {
  Vector3d v;
  in >> v.x() >> v.y() >> v.z();
  return v;
}

pinocchio::JointIndex add_joint(pinocchio::Model& model, pinocchio::JointIndex parent, const std::string& type,
                                const Vector3d& axis, const pinocchio::SE3& placement, const std::string& name) {
  using namespace pinocchio;
  if (type == "JointModelFreeFlyer") return model.addJoint(parent, JointModelFreeFlyer(), placement, name);
  if (type == "JointModelRX") return model.addJoint(parent, JointModelRX(), placement, name);
  if (type == "JointModelRY") return model.addJoint(parent, JointModelRY(), placement, name);
  if (type == "JointModelRZ") return model.addJoint(parent, JointModelRZ(), placement, name);
  if (type == "JointModelPX") return model.addJoint(parent, JointModelPX(), placement, name);
  if (type == "JointModelPY") return model.addJoint(parent, JointModelPY(), placement, name);
  if (type == "JointModelPZ") return model.addJoint(parent, JointModelPZ(), placement, name);
  if (type == "JointModelRevoluteUnaligned")
    return model.addJoint(parent, JointModelRevoluteUnaligned(axis), placement, name);
  if (type == "JointModelPrismaticUnaligned")
    return model.addJoint(parent, JointModelPrismaticUnaligned(axis), placement, name);
  throw std::runtime_error("no joint type " + type);
}

// A line for each joint: name type parent, rotation (rows), position, axis, mass, centre of mass, inertia about it
// (xx xy xz yy yz zz).
pinocchio::Model read_model(const std::string& path) {
  std::ifstream in(path);
  pinocchio::Model model;
  model.gravity.linear(read_vector(in));
  std::string name, type;
  pinocchio::JointIndex parent = 0;
  while (in >> name >> type >> parent) {
    pinocchio::SE3 placement;
    for (int i = 0; i < 9; ++i) in >> placement.rotation()(i / 3, i % 3);
    placement.translation() = read_vector(in);
    const Vector3d axis = read_vector(in);
    double mass = 0.0;
    in >> mass;
    const Vector3d com = read_vector(in);
    double xx, xy, xz, yy, yz, zz;
    in >> xx >> xy >> xz >> yy >> yz >> zz;
    const auto joint = add_joint(model, parent, type, axis, placement, name);
    model.appendBodyToJoint(joint, pinocchio::Inertia(mass, com, pinocchio::Symmetric3(xx, xy, yy, xz, yz, zz)));
  }
  if (model.njoints < 2) throw std::runtime_error("no joints in " + path);
  return model;
}

struct Robot {
  Robot(const bench::States& s, const std::string& path) : states(s), model(read_model(path)), data(model) {
    if (model.nq != s.nq || model.nv != s.nv) throw std::runtime_error("states do not fit " + path);
    x.resize(model.nv);
    for (int i = 0; i < s.count; ++i) {  // vectors of their own: aligned, as a user would have them
      q.emplace_back(Map<const VectorXd>(s.q_of(i), s.nq));
      v.emplace_back(Map<const VectorXd>(s.v_of(i), s.nv));
      a.emplace_back(Map<const VectorXd>(s.a_of(i), s.nv));
      tau.emplace_back(Map<const VectorXd>(s.tau_of(i), s.nv));
    }
  }

  void factor_and_solve(int i) {
    pinocchio::cholesky::decompose(model, data);
    x = tau[static_cast<std::size_t>(i)];
    pinocchio::cholesky::solve(model, data, x);
  }

  bench::States states;
  pinocchio::Model model;
  pinocchio::Data data;
  std::vector<VectorXd> q, v, a, tau;
  VectorXd x;
};

void append(std::vector<double>& results, const MatrixXd& values) {
  results.insert(results.end(), values.data(), values.data() + values.size());
}

// tau = RNEA(q, v, a), M, a = ABA(q, v, tau), M^-1 tau.
void check(Robot& r, std::size_t i, std::vector<double>& results) {
  append(results, pinocchio::rnea(r.model, r.data, r.q[i], r.v[i], r.a[i]));
  pinocchio::crba(r.model, r.data, r.q[i], Convention::WORLD);
  append(results, MatrixXd(r.data.M.selfadjointView<Eigen::Upper>()));
  append(results, pinocchio::aba(r.model, r.data, r.q[i], r.v[i], r.tau[i], Convention::WORLD));
  pinocchio::crba(r.model, r.data, r.q[i], Convention::WORLD);
  r.factor_and_solve(static_cast<int>(i));
  append(results, r.x);
}

bench::Case load(const bench::States& states, const std::string&, const std::string& path) {
  auto robot = std::make_shared<Robot>(states, path);
  Robot& r = *robot;
  bench::Case result;
  result.owner = robot;
  result.check = [&r](int i, std::vector<double>& results) { check(r, static_cast<std::size_t>(i), results); };
  const auto row = [&](const std::string& name, auto call) {
    result.rows[name] = bench::over_states(states.count, [call](int i) { call(static_cast<std::size_t>(i)); });
  };
  row("rnea", [&r](std::size_t i) { pinocchio::rnea(r.model, r.data, r.q[i], r.v[i], r.a[i]); });
  row("crba/world", [&r](std::size_t i) { pinocchio::crba(r.model, r.data, r.q[i], Convention::WORLD); });
  row("crba/local", [&r](std::size_t i) { pinocchio::crba(r.model, r.data, r.q[i], Convention::LOCAL); });
  row("aba/world",
      [&r](std::size_t i) { pinocchio::aba(r.model, r.data, r.q[i], r.v[i], r.tau[i], Convention::WORLD); });
  row("aba/local",
      [&r](std::size_t i) { pinocchio::aba(r.model, r.data, r.q[i], r.v[i], r.tau[i], Convention::LOCAL); });
  row("factor_solve", [&r](std::size_t i) { r.factor_and_solve(static_cast<int>(i)); });
  row("crba_factor_solve/world", [&r](std::size_t i) {
    pinocchio::crba(r.model, r.data, r.q[i], Convention::WORLD);
    r.factor_and_solve(static_cast<int>(i));
  });
  row("crba_factor_solve/local", [&r](std::size_t i) {
    pinocchio::crba(r.model, r.data, r.q[i], Convention::LOCAL);
    r.factor_and_solve(static_cast<int>(i));
  });
  pinocchio::crba(r.model, r.data, r.q[0], Convention::WORLD);  // factor_solve needs some M
  return result;
}

}  // namespace

int main() { return bench::serve(load); }
