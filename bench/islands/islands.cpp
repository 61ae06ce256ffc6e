// What bench/islands/run.py runs: bench_islands FILE... [--solver NAME] [--set NAME=VALUE] [--cold]
// [--perturb SEED] [--repeat N]. Files as shared/island_problems/README.md describes them, unpacked. One line of text
// for each problem: file, number, blocks, rows, processor time in us (the least of N), relative natv, status,
// factorisations, stage.
// --perturb changes free velocities, frictions and warm starts a little, so that a method that was tuned on the
// problems can be tried on others of the kind.
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "touchstone/contact/certify.hpp"
#include "touchstone/solvers/catalogue.hpp"

namespace {

using namespace touchstone;

struct Recorded {
  ContactProblem problem;
  VectorX warm;
};

class Reader {
 public:
  explicit Reader(const std::string& path) : file_(path, std::ios::binary) {
    if (!file_) throw std::runtime_error(fmt::format("cannot read {}", path));
  }

  bool next(Recorded& recorded) {
    char magic[4] = {};
    if (!file_.read(magic, 4)) return false;
    if (std::memcmp(magic, "TSP1", 4) != 0) throw std::runtime_error("not a file of island problems: unpack it first");
    recorded = {};
    ContactProblem& p = recorded.problem;
    const auto nblock = read<std::int32_t>(), nrow = read<std::int32_t>();
    for (int k = 0; k < 4; ++k) read<std::int32_t>();  // step, iterations, status, attempt
    read<double>();                                    // seconds
    p.time_step = read<double>();
    std::vector<std::uint8_t> kinds(2 * static_cast<std::size_t>(nblock));
    for (std::uint8_t& kind : kinds) kind = read<std::uint8_t>();
    const VectorX mu = vector(nrow), lo = vector(nrow), hi = vector(nrow);
    add_blocks(kinds, mu, lo, hi, p.blocks);
    if (read<std::uint8_t>() != 0) {
      const VectorX length = vector(nrow);
      p.row_length.assign(length.begin(), length.end());
    }
    const VectorX g = vector(nrow);
    recorded.warm = vector(nrow);
    if (read<std::uint8_t>() != 0) p.R = vector(nrow);
    p.dual.set(read_matrix(p.blocks), g);
    p.dual.symmetric = true;
    return true;
  }

 private:
  template <typename T>
  T read() {
    T value{};
    if (!file_.read(reinterpret_cast<char*>(&value), sizeof(T))) throw std::runtime_error("the file ends too early");
    return value;
  }

  VectorX vector(int size) {
    VectorX v(size);
    for (double& x : v) x = read<double>();
    return v;
  }

  static void add_blocks(const std::vector<std::uint8_t>& kinds, const VectorX& mu, const VectorX& lo,
                         const VectorX& hi, Blocks& blocks) {
    int row = 0;
    for (std::size_t i = 0; i < kinds.size(); i += 2) {
      const int rows = kinds[i + 1];
      switch (kinds[i]) {
        case 0:
          blocks.add_equality(rows);
          break;
        case 1:
          blocks.add_nonnegative();
          break;
        case 2:
          blocks.add_box(lo[row], hi[row]);
          break;
        default:
          blocks.add_coulomb(mu.data() + row, rows - 1);
          break;
      }
      row += rows;
    }
  }

  BlockSparseMatrix read_matrix(const Blocks& blocks) {
    struct Entry {
      int i, j;
      MatrixX values;
    };
    std::vector<Entry> entries(static_cast<std::size_t>(read<std::int32_t>()));
    std::vector<std::pair<int, int>> pattern;
    for (Entry& e : entries) {
      e.i = read<std::int32_t>();
      e.j = read<std::int32_t>();
      e.values.resize(blocks.size(e.i), blocks.size(e.j));
      for (Eigen::Index k = 0; k < e.values.size(); ++k) e.values.data()[k] = read<double>();
      pattern.emplace_back(e.i, e.j);
      if (e.i != e.j) pattern.emplace_back(e.j, e.i);
    }
    BlockSparseMatrix G;
    G.set_pattern(blocks.row, blocks.row, pattern);
    for (const Entry& e : entries) {
      G.block(e.i, G.find(e.i, e.j)) = e.values;
      if (e.i != e.j) G.block(e.j, G.find(e.j, e.i)) = e.values.transpose();
    }
    return G;
  }

  std::ifstream file_;
};

void perturb(std::mt19937_64& draw, Recorded& r) {
  // Impulses on the bodies, through the constraints: what is feasible stays so.
  std::normal_distribution<double> normal;
  const double size = r.warm.lpNorm<Eigen::Infinity>();
  VectorX impulse = r.warm, change(r.warm.size());
  for (double& x : impulse) x = 0.03 * (std::abs(x) + 0.01 * size) * normal(draw);
  r.problem.dual.G_sparse.multiply(impulse.data(), change.data());
  r.problem.dual.g += change;
  for (double& mu : r.problem.blocks.mu) mu *= std::exp(0.1 * normal(draw));
  for (double& x : r.warm) x *= 1.0 + 0.03 * normal(draw);
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> settings;
  std::string solver = "auto";
  bool cold = false;
  int perturb = 0, repeat = 3;
};

Arguments read_arguments(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--cold") {
      a.cold = true;
    } else if (word == "--solver" && has_value) {
      a.solver = argv[++i];
    } else if (word == "--set" && has_value) {
      a.settings.emplace_back(argv[++i]);
    } else if (word == "--perturb" && has_value) {
      a.perturb = std::stoi(argv[++i]);
    } else if (word == "--repeat" && has_value) {
      a.repeat = std::stoi(argv[++i]);
    } else {
      a.files.push_back(word);
    }
  }
  return a;
}

void run(const Arguments& a) {
  const auto solver = make_solver(a.solver);
  const auto options = solver->make_options();
  for (const std::string& setting : a.settings) set_option(*options, setting);
  options->relative_tolerance = 1e-6;
  options->warm_start = !a.cold;
  options->validation = Validation::kData;
  const auto workspace = solver->make_workspace();
  Solution solution;
  for (const std::string& path : a.files) {
    Reader reader(path);
    std::mt19937_64 draw(static_cast<std::uint64_t>(a.perturb));
    Recorded r;
    for (int number = 0; reader.next(r); ++number) {
      if (a.perturb != 0) perturb(draw, r);
      double least = kInfinity;
      SolveStatus status{};
      for (int k = 0; k < a.repeat; ++k) {
        solution.lambda = r.warm;
        const double begin = thread_seconds();
        status = solver->solve(r.problem, *options, *workspace, solution);
        least = std::min(least, thread_seconds() - begin);
      }
      const std::string name = path.substr(path.find_last_of('/') + 1);
      fmt::print("{} {} {} {} {:.1f} {:.2e} {} {} {}\n", name, number, r.problem.nblock(), r.problem.nrow(),
                 1e6 * least, certify(r.problem, solution.lambda).natv_relative,
                 status == SolveStatus::kSolved ? "solved" : "open", solution.factorizations,
                 solution.stage.number < 0 ? "-" : solution.stage.name);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(read_arguments(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_islands: {}\n", error.what());
    return 1;
  }
  return 0;
}
