// Contact problems: made in code, by rule, at random, or read from other people's files.
#include <filesystem>

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/generate.hpp"
#include "touchstone/contact/validate.hpp"
#include "touchstone/io/fclib.hpp"

namespace touchstone::python {
namespace {

using Problem = RecordedProblem;  // with the title of its file, if it has one

constexpr int kLargestDense = 20'000;  // rows; a dense G of more would not fit into memory

Problem wrap(ContactProblem problem) {
  Problem p;
  p.problem = std::move(problem);
  return p;
}

MatrixX dense_inertia(const PrimalData& primal) { return primal.A ? primal.A->matrix().dense() : MatrixX(); }

// G = J A^-1 J' + R.
MatrixX form_delassus(const ContactProblem& p) {
  const MatrixX J = p.primal.J.dense();
  MatrixX G(p.nrow(), p.nrow());
  for (int r = 0; r < p.nrow(); ++r) {
    VectorX column = J.row(r);
    p.primal.A->solve(column);
    G.col(r).noalias() = J * column;
  }
  if (p.R.size() > 0) G.diagonal() += p.R;
  return G;
}

MatrixX delassus(const Problem& problem) {
  const ContactProblem& p = problem.problem;
  if (p.nrow() > kLargestDense) throw Error("a dense G of {} rows is too large; use the primal view", p.nrow());
  switch (p.dual.form) {
    case DualData::Form::kDense:
      return p.dual.G_dense;
    case DualData::Form::kSparse:
      return p.dual.G_sparse.dense();
    case DualData::Form::kNone:
      break;
  }
  if (!p.has_primal()) throw Error("the problem has no G and no primal view; call set_dual or set_primal");
  return form_delassus(p);
}

VectorX free_velocity(const Problem& problem) {
  const ContactProblem& p = problem.problem;
  if (p.has_dual()) return p.dual.g;
  if (!p.has_primal()) throw Error("the problem has no g and no primal view; call set_dual or set_primal");
  VectorX g = p.primal.J * p.primal.v_free;
  if (p.b.size() > 0) g += p.b;
  return g;
}

void set_dual(Problem& problem, const Numbers& G, const Numbers& g, const std::optional<Numbers>& compliance) {
  const int n = problem.problem.nrow();
  problem.problem.dual.set(G.matrix("G", n, n), g.vector("g", n));
  if (compliance || !problem.problem.has_primal()) {
    problem.problem.R = compliance ? compliance->spread("R", n) : VectorX();
  }
}

void set_primal(Problem& problem, const Numbers& inertia, const Numbers& jacobian, const Numbers& v_free,
                const std::optional<Numbers>& compliance, const std::optional<Numbers>& bias) {
  ContactProblem& p = problem.problem;
  const MatrixX A = inertia.matrix("A");
  const auto nv = static_cast<int>(A.rows());
  const MatrixX J = jacobian.matrix("J", p.nrow(), nv);
  p.primal = PrimalData();
  DenseInertia dense;
  dense.add(A);
  p.primal.set_inertia(std::move(dense));
  std::vector<JacobianBlock> blocks;
  for (int i = 0; i < p.nblock(); ++i) {
    blocks.push_back({i, 0, J.middleRows(p.blocks.row[static_cast<std::size_t>(i)], p.blocks.size(i))});
  }
  p.set_jacobian(blocks);
  p.primal.v_free = v_free.vector("v_free", nv);
  if (compliance || !p.has_dual()) p.R = compliance ? compliance->spread("R", p.nrow()) : VectorX();
  p.b = bias ? bias->spread("b", p.nrow()) : VectorX();
}

int add_contact(Problem& problem, const Numbers& friction) {
  const VectorX mu = friction.vector("friction");
  if (mu.size() == 1) return problem.problem.blocks.add_coulomb(mu[0]);
  if (mu.size() != 0 && mu.size() != 2 && mu.size() != 3 && mu.size() != 5) {
    throw Error("friction has {} numbers; give 1, 2 (t1, t2), 3 (and torsion), 5 (and rolling), or none", mu.size());
  }
  return problem.problem.blocks.add_coulomb(mu.data(), static_cast<int>(mu.size()));
}

Problem from_arrays(const Numbers& G, const Numbers& g, const Numbers& mu, double time_step) {
  const VectorX free = g.vector("g");
  if (free.size() % 3 != 0) throw Error("g has {} numbers; three for each contact are needed: t1, t2, n", free.size());
  const auto contacts = static_cast<int>(free.size() / 3);
  const VectorX friction = mu.spread("mu", contacts);
  Problem problem;
  for (int i = 0; i < contacts; ++i) problem.problem.blocks.add_coulomb(friction[i]);
  set_dual(problem, G, g, std::nullopt);
  problem.problem.time_step = time_step;
  return problem;
}

Residuals residuals(const Problem& problem, const Numbers& impulse, const std::string& model) {
  const ContactModel kind = model == "ncp"   ? ContactModel::kNcp
                            : model == "ccp" ? ContactModel::kCcp
                            : model == "lcp" ? ContactModel::kLcp
                                             : throw Error("contact model '{}'; give ncp, ccp or lcp", model);
  const Verdict verdict = validate_data(problem.problem);
  if (!verdict.usable()) throw Error("{}", verdict.message);
  const VectorX lambda = impulse.vector("impulse", problem.problem.nrow());
  const nb::gil_scoped_release release;
  return certify(problem.problem, lambda, kind);
}

std::string repr(const Problem& problem) {
  const ContactProblem& p = problem.problem;
  return fmt::format("<ContactProblem{}: {} blocks, {} rows; {}{}{}>",
                     problem.title.empty() ? "" : " '" + problem.title + "'", p.nblock(), p.nrow(),
                     p.has_dual() ? "dual" : "", p.has_dual() && p.has_primal() ? " and " : "",
                     p.has_primal() ? fmt::format("primal with {} dofs", p.primal.nv()) : "");
}

void bind_making(nb::class_<Problem>& c) {
  c.def(nb::init<>(), "Empty; add blocks, then set_dual or set_primal.")
      .def_static("from_arrays", &from_arrays, nb::arg("G"), nb::arg("g"), nb::arg("mu"), nb::arg("time_step") = 0.0,
                  "Contacts with sliding friction alone: G 3n x 3n, g 3n with rows t1, t2, n for each contact; mu one "
                  "number or one for each.")
      .def("add_contact", &add_contact, nb::arg("friction"),
           "Rows t1, t2, n (one number: isotropic; two: t1, t2; three: and torsion; five: and rolling), or n alone for "
           "none. Returns the block.")
      .def(
          "add_equality", [](Problem& p, int size) { return p.problem.blocks.add_equality(size); }, nb::arg("size"),
          "1 to 6 rows with u = 0.")
      .def(
          "add_limit", [](Problem& p) { return p.problem.blocks.add_nonnegative(); },
          "One row: impulse >= 0, velocity >= 0, one of them zero.")
      .def(
          "add_box", [](Problem& p, double lo, double hi) { return p.problem.blocks.add_box(lo, hi); }, nb::arg("lo"),
          nb::arg("hi"), "One row with an impulse between two bounds, N s: dry friction.")
      .def("set_dual", &set_dual, nb::arg("G"), nb::arg("g"), nb::arg("R") = nb::none(),
           "u = G impulse + g: G includes compliance; R, one number or one for each row, says how much of its diagonal "
           "is.")
      .def("set_primal", &set_primal, nb::arg("A"), nb::arg("J"), nb::arg("v_free"), nb::arg("R") = nb::none(),
           nb::arg("b") = nb::none(),
           "A (v' - v_free) = J' impulse, u = J v' + b + R impulse; R and b: one number or one for each row.");
}

void bind_reading(nb::class_<Problem>& c) {
  c.def_prop_ro("nblock", [](const Problem& p) { return p.problem.nblock(); })
      .def_prop_ro("nrow", [](const Problem& p) { return p.problem.nrow(); })
      .def_prop_ro(
          "nv", [](const Problem& p) { return p.problem.primal.nv(); }, "Dofs of the primal view; 0 without one.")
      .def_prop_ro("has_dual", [](const Problem& p) { return p.problem.has_dual(); })
      .def_prop_ro("has_primal", [](const Problem& p) { return p.problem.has_primal(); })
      .def_prop_ro("block_types",
                   [](const Problem& p) {
                     std::vector<std::string> names;
                     for (const BlockType type : p.problem.blocks.type) names.emplace_back(block_type_name(type));
                     return names;
                   })
      .def_prop_ro(
          "block_rows", [](const Problem& p) { return p.problem.blocks.row; },
          "First row of each block, then the number of rows.")
      .def_prop_ro(
          "mu", [](const Problem& p) { return copy(p.problem.blocks.mu); },
          "Friction coefficient of each row; 0 for rows without friction.")
      .def_prop_ro(
          "G", [](const Problem& p) { return copy_matrix(delassus(p)); }, "Dense copy, formed if need be.")
      .def_prop_ro(
          "g", [](const Problem& p) { return copy(free_velocity(p)); }, "m/s: velocities without impulses.")
      .def_prop_ro(
          "A", [](const Problem& p) { return copy_matrix(dense_inertia(p.problem.primal)); },
          "Inertia of the primal view, dense copy.")
      .def_prop_ro(
          "J", [](const Problem& p) { return copy_matrix(p.problem.primal.J.dense()); },
          "Jacobian of the primal view, dense copy.")
      .def_prop_ro(
          "R", [](const Problem& p) { return copy(p.problem.R); },
          "Compliance of each row, which G holds too; empty: none is known.")
      .def_prop_ro(
          "b", [](const Problem& p) { return copy(p.problem.b); },
          "m/s: bias velocity of the primal view; empty: none.")
      .def_prop_ro("v_free", [](const Problem& p) { return copy(p.problem.primal.v_free); })
      .def_rw("title", &Problem::title)
      .def_rw("description", &Problem::description)
      .def_prop_rw(
          "time_step", [](const Problem& p) { return p.problem.time_step; },
          [](Problem& p, double h) { p.problem.time_step = h; },
          "s; 0: unknown. Only the relative certificate uses it.")
      .def(
          "validate",
          [](const Problem& p) {
            const Verdict verdict = validate(p.problem);
            if (!verdict.usable()) throw Error("{}", verdict.message);
          },
          "Raises Error that says what is wrong, where, and the remedy.")
      .def("__repr__", &repr);
}

void bind_generators(nb::module_& m) {
  const auto options = [](double time_step, double friction) {
    SceneOptions o;
    o.time_step = time_step;
    o.friction = friction;
    return o;
  };
  m.def(
      "make_cube",
      [options](const Numbers& velocity, double time_step, double friction) {
        return wrap(make_cube(velocity.vector3("velocity"), options(time_step, friction)));
      },
      nb::arg("velocity"), nb::arg("time_step") = 1e-3, nb::arg("friction") = 0.5,
      "A cube of 1 kg and 1 m on the ground with a free velocity (m/s): 4 contacts.");
  m.def(
      "make_box_stack",
      [options](int count, double mass_ratio, double time_step, double friction) {
        return wrap(make_box_stack(count, mass_ratio, options(time_step, friction)));
      },
      nb::arg("count"), nb::arg("mass_ratio") = 1.0, nb::arg("time_step") = 1e-3, nb::arg("friction") = 0.5,
      "Cubes on each other, 4 contacts an interface; the top one mass_ratio times as heavy as the lowest.");
  m.def(
      "make_chain",
      [options](int contacts, double time_step, double friction) {
        return wrap(make_chain(contacts, options(time_step, friction)));
      },
      nb::arg("contacts"), nb::arg("time_step") = 1e-3, nb::arg("friction") = 0.5, "A row of spheres, pushed.");
  m.def(
      "make_pile",
      [options](int contacts, std::uint32_t seed, double mass_ratio, double time_step, double friction) {
        return wrap(make_pile(contacts, seed, mass_ratio, options(time_step, friction)));
      },
      nb::arg("contacts"), nb::arg("seed") = 0, nb::arg("mass_ratio") = 10.0, nb::arg("time_step") = 1e-3,
      nb::arg("friction") = 0.5, "Spheres of random mass on a lattice.");
  m.def(
      "make_wall",
      [options](int contacts, double time_step, double friction) {
        return wrap(make_wall(contacts, options(time_step, friction)));
      },
      nb::arg("contacts"), nb::arg("time_step") = 1e-3, nb::arg("friction") = 0.5, "Bricks in running bond.");
  m.def(
      "make_random",
      [](int contacts, std::uint32_t seed, double condition, double hyperstaticity, int equalities, int limits,
         int boxes) {
        RandomProblemOptions o;
        o.contacts = contacts;
        o.condition = condition;
        o.hyperstaticity = hyperstaticity;
        o.equalities = equalities;
        o.limits = limits;
        o.boxes = boxes;
        return wrap(make_random_problem(o, seed));
      },
      nb::arg("contacts") = 10, nb::arg("seed") = 0, nb::arg("condition") = 100.0, nb::arg("hyperstaticity") = 1.0,
      nb::arg("equalities") = 0, nb::arg("limits") = 0, nb::arg("boxes") = 0,
      "A dense problem that has a solution. condition: of G; hyperstaticity: rows over rank of G.");
}

}  // namespace

void bind_problem(nb::module_& m) {
  nb::class_<Problem> problem(
      m, "ContactProblem",
      "The contact problem of one step, free of any robot: u = G impulse + g, and each block of rows obeys its law. "
      "Impulses in N s, velocities in m/s. The rows of a contact are t1, t2, (torsion, rolling,) n: the normal last.");
  bind_making(problem);
  bind_reading(problem);
  bind_generators(m);
  m.def("residuals", &residuals, nb::arg("problem"), nb::arg("impulse"), nb::arg("model") = "ncp",
        "The certificate of an answer, whoever computed it. model: whose own residual `model_natv` is, 'ncp', 'ccp' or "
        "'lcp'.");
  m.def(
      "load_problem",
      [](const std::filesystem::path& file) {
        const nb::gil_scoped_release release;
        return load_problem(file);
      },
      nb::arg("file"), "Reads an FCLIB (HDF5) or Siconos (text) file.");
  m.def(
      "save_problem",
      [](const std::filesystem::path& file, const Problem& p, const std::string& form) {
        if (form != "local" && form != "global") throw Error("form '{}'; give local or global", form);
        write_fclib(file, p, form == "local" ? FclibForm::kLocal : FclibForm::kGlobal);
      },
      nb::arg("file"), nb::arg("problem"), nb::arg("form") = "local",
      "Writes an FCLIB file: 'local' (G, g) or 'global' (the primal view). Contacts must have three rows and isotropic "
      "friction, other blocks must be equalities.");
}

}  // namespace touchstone::python
