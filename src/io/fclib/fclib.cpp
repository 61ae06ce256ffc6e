// The layout of FCLIB: /fclib_local or /fclib_global with matrices as groups {m, n, nz, nzmax, p, i, x}. nz = -1:
// compressed columns, -2: compressed rows, otherwise nz triplets with rows in i and columns in p. Indices count from 0.
#include "touchstone/io/fclib.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "touchstone/base/input_file.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/io/fclib/fclib_parts.hpp"
#include "touchstone/io/fclib/hdf5.hpp"

namespace touchstone {
namespace {

using fclib::Entry;
using fclib::Matrix;

constexpr int kCompressedColumns = -1;
constexpr int kCompressedRows = -2;
constexpr const char* kRemedy = "check the program that wrote the file";

// --- Reading ---

void read_compressed(const hdf5::Reader& in, const std::string& path, bool by_columns, Matrix& matrix) {
  const std::vector<int> p = in.integers(path + "/p"), index = in.integers(path + "/i");
  const std::vector<double> x = in.numbers(path + "/x");
  const int outer = by_columns ? matrix.cols : matrix.rows, inner = by_columns ? matrix.rows : matrix.cols;
  if (std::ssize(p) < outer + 1LL)
    in.fail(path + "/p", fmt::format("it has {} entries, expected {}", p.size(), outer + 1LL), kRemedy);
  for (int k = 0; k < outer; ++k) {
    if (p[k] < 0 || p[k + 1] < p[k] || p[k + 1] > std::ssize(index) || p[k + 1] > std::ssize(x))
      in.fail(path + "/p",
              fmt::format("entry {} is {}, out of order or beyond the {} values", k + 1, p[k + 1], x.size()), kRemedy);
    for (int e = p[k]; e < p[k + 1]; ++e) {
      if (index[e] < 0 || index[e] >= inner)
        in.fail(path + "/i", fmt::format("entry {} is {}, expected 0 to {}", e, index[e], inner - 1), kRemedy);
      matrix.entries.push_back(by_columns ? Entry{index[e], k, x[e]} : Entry{k, index[e], x[e]});
    }
  }
}

void read_triplets(const hdf5::Reader& in, const std::string& path, int count, Matrix& matrix) {
  const std::vector<int> col = in.integers(path + "/p"), row = in.integers(path + "/i");
  const std::vector<double> x = in.numbers(path + "/x");
  if (count > std::ssize(col) || count > std::ssize(row) || count > std::ssize(x))
    in.fail(
        path + "/nz",
        fmt::format("it says {} triplets, there are {}, {} and {} numbers", count, col.size(), row.size(), x.size()),
        kRemedy);
  for (int e = 0; e < count; ++e) {
    if (row[e] < 0 || row[e] >= matrix.rows || col[e] < 0 || col[e] >= matrix.cols)
      in.fail(path, fmt::format("triplet {} is at ({}, {}) of {} x {}", e, row[e], col[e], matrix.rows, matrix.cols),
              kRemedy);
    matrix.entries.push_back({row[e], col[e], x[e]});
  }
}

Matrix read_matrix(const hdf5::Reader& in, const std::string& path) {
  Matrix matrix;
  matrix.rows = in.integer(path + "/m");
  matrix.cols = in.integer(path + "/n");
  if (matrix.rows < 0 || matrix.cols < 0)
    in.fail(path, fmt::format("its size is {} x {}", matrix.rows, matrix.cols), kRemedy);
  const int kind = in.integer(path + "/nz");
  if (kind == kCompressedColumns || kind == kCompressedRows) {
    read_compressed(in, path, kind == kCompressedColumns, matrix);
  } else if (kind >= 0) {
    read_triplets(in, path, kind, matrix);
  } else {
    in.fail(path + "/nz", fmt::format("it is {}, expected -1, -2 or the number of triplets", kind), kRemedy);
  }
  return matrix;
}

std::vector<double> read_optional(const hdf5::Reader& in, const std::string& path) {
  return in.has(path) ? in.numbers(path) : std::vector<double>{};
}

void read_info(const hdf5::Reader& in, const std::string& root, RecordedProblem& recorded) {
  recorded.title = in.text(root + "/info/title");
  recorded.description = in.text(root + "/info/description");
  recorded.math_info = in.text(root + "/info/math_info");
}

void require_3d(const hdf5::Reader& in, const std::string& path) {
  const int dimension = in.integer(path);
  if (dimension != 3)
    in.fail(path, fmt::format("the dimension is {}", dimension), "only problems of dimension 3 are supported");
}

// --- Writing ---

void write_matrix(hdf5::Writer& out, const std::string& path, Matrix matrix) {
  std::sort(matrix.entries.begin(), matrix.entries.end(),
            [](const Entry& a, const Entry& b) { return a.col != b.col ? a.col < b.col : a.row < b.row; });
  std::vector<int> p(static_cast<std::size_t>(matrix.cols) + 1, 0), i;
  std::vector<double> x;
  for (const Entry& entry : matrix.entries) {
    ++p[static_cast<std::size_t>(entry.col) + 1];
    i.push_back(entry.row);
    x.push_back(entry.value);
  }
  for (std::size_t k = 1; k < p.size(); ++k) p[k] += p[k - 1];
  out.group(path);
  out.integers(path + "/m", {matrix.rows});
  out.integers(path + "/n", {matrix.cols});
  out.integers(path + "/nz", {kCompressedColumns});
  out.integers(path + "/nzmax", {static_cast<int>(x.size())});
  out.integers(path + "/p", p);
  out.integers(path + "/i", i);
  out.numbers(path + "/x", x);
}

// Rows of the problem in the order of the file: contacts first, then equalities.
struct RowOrder {
  std::vector<int> file;  // nrow: row in the file, contacts and equalities counted together
  int contact_rows = 0, equality_rows = 0;
  std::vector<double> mu;
};

RowOrder order_rows(const ContactProblem& problem, const std::string& name) {
  RowOrder order;
  order.file.resize(static_cast<std::size_t>(problem.nrow()));
  const Blocks& blocks = problem.blocks;
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[i] == BlockType::kEquality) continue;
    const double* mu = blocks.mu.data() + blocks.row[i];
    if (blocks.type[i] != BlockType::kCoulomb || blocks.size(i) != 3 || mu[0] != mu[1])
      throw Error({.where = {name, 0, problem.describe_block(i)},
                   .message = "FCLIB has no such block",
                   .remedy = "only contacts of three rows with isotropic friction and equalities can be written"});
    for (int k = 0; k < 3; ++k) {
      order.file[blocks.row[i] + k] = order.contact_rows + (k + 1) % 3;  // the normal first
    }
    order.contact_rows += 3;
    order.mu.push_back(mu[0]);
  }
  for (int i = 0; i < blocks.count(); ++i) {
    if (blocks.type[i] != BlockType::kEquality) continue;
    for (int r = blocks.row[i]; r < blocks.row[i + 1]; ++r) order.file[r] = order.contact_rows + order.equality_rows++;
  }
  return order;
}

// The part of a vector of rows that belongs to contacts or to equalities, in the order of the file.
std::vector<double> part(const RowOrder& order, const VectorX& values, bool equalities) {
  std::vector<double> result(static_cast<std::size_t>(equalities ? order.equality_rows : order.contact_rows), 0.0);
  for (int r = 0; r < values.size(); ++r) {
    const int row = order.file[r];
    if ((row >= order.contact_rows) == equalities) result[row - (equalities ? order.contact_rows : 0)] = values[r];
  }
  return result;
}

void write_info(hdf5::Writer& out, const std::string& root, const RecordedProblem& recorded) {
  out.group(root + "/info");
  out.text(root + "/info/title", recorded.title);
  out.text(root + "/info/description", recorded.description);
  out.text(root + "/info/math_info", recorded.math_info);
}

void write_local(hdf5::Writer& out, const RecordedProblem& recorded, const RowOrder& order) {
  const ContactProblem& problem = recorded.problem;
  DualProblem dual;
  const Verdict verdict = prepare_dual(problem, {}, dual);
  if (!verdict.usable()) throw Error({.message = verdict.message});
  Matrix W{order.contact_rows, order.contact_rows, {}}, V{order.contact_rows, order.equality_rows, {}};
  Matrix R{order.equality_rows, order.equality_rows, {}};
  for (int i = 0; i < dual.nblock(); ++i) {
    for (int k = dual.G.start[i]; k < dual.G.start[i + 1]; ++k) {
      const auto block = std::as_const(dual.G).block(i, k);
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r) {
          const int row = dual.G.row_begin[i] + r, col = dual.G.col_begin[dual.G.col[k]] + c;
          const double value = block(r, c) * dual.u_scale[row] / dual.lambda_scale[col];
          const int file_row = order.file[row], file_col = order.file[col];
          const bool lower = file_row >= order.contact_rows, right = file_col >= order.contact_rows;
          if (!lower && !right) W.entries.push_back({file_row, file_col, value});
          if (!lower && right) V.entries.push_back({file_row, file_col - order.contact_rows, value});
          if (lower && right)
            R.entries.push_back({file_row - order.contact_rows, file_col - order.contact_rows, value});
        }
      }
    }
  }
  const VectorX g = dual.g.cwiseProduct(dual.u_scale);
  out.group("/fclib_local");
  out.integers("/fclib_local/spacedim", {3});
  write_matrix(out, "/fclib_local/W", std::move(W));
  out.group("/fclib_local/vectors");
  out.numbers("/fclib_local/vectors/q", part(order, g, false));
  out.numbers("/fclib_local/vectors/mu", order.mu);
  if (order.equality_rows > 0) {
    write_matrix(out, "/fclib_local/V", std::move(V));
    write_matrix(out, "/fclib_local/R", std::move(R));
    out.numbers("/fclib_local/vectors/s", part(order, g, true));
  }
  write_info(out, "/fclib_local", recorded);
}

void write_global(hdf5::Writer& out, const RecordedProblem& recorded, const RowOrder& order) {
  const PrimalData& primal = recorded.problem.primal;
  const int nv = primal.nv();
  const auto dof = [&](int k) { return recorded.dof.empty() ? k : recorded.dof[k]; };
  Matrix M{nv, nv, {}}, H{nv, order.contact_rows, {}}, G{nv, order.equality_rows, {}};
  std::vector<double> f(static_cast<std::size_t>(nv), 0.0);
  const BlockSparseMatrix A = primal.A->matrix();
  const VectorX impulse = A * primal.v_free;
  for (int k = 0; k < nv; ++k) f[dof(k)] = impulse[k];
  for (int i = 0; i < A.block_rows(); ++i) {
    for (int k = A.start[i]; k < A.start[i + 1]; ++k) {
      const auto block = A.block(i, k);
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r) {
          if (block(r, c) == 0.0) continue;
          M.entries.push_back({dof(A.row_begin[i] + r), dof(A.col_begin[A.col[k]] + c), block(r, c)});
        }
      }
    }
  }
  for (int i = 0; i < primal.J.block_rows(); ++i) {
    for (int k = primal.J.start[i]; k < primal.J.start[i + 1]; ++k) {
      const auto block = primal.J.block(i, k);
      for (int c = 0; c < block.cols(); ++c) {
        for (int r = 0; r < block.rows(); ++r) {
          if (block(r, c) == 0.0) continue;
          const int row = order.file[primal.J.row_begin[i] + r], k_dof = dof(primal.J.col_begin[primal.J.col[k]] + c);
          if (row < order.contact_rows) {
            H.entries.push_back({k_dof, row, block(r, c)});
          } else {
            G.entries.push_back({k_dof, row - order.contact_rows, block(r, c)});
          }
        }
      }
    }
  }
  const VectorX& given = recorded.problem.b;
  const VectorX b = given.size() > 0 ? given : VectorX(VectorX::Zero(recorded.problem.nrow()));
  out.group("/fclib_global");
  out.integers("/fclib_global/spacedim", {3});
  write_matrix(out, "/fclib_global/M", std::move(M));
  write_matrix(out, "/fclib_global/H", std::move(H));
  out.group("/fclib_global/vectors");
  out.numbers("/fclib_global/vectors/f", f);
  out.numbers("/fclib_global/vectors/w", part(order, b, false));
  out.numbers("/fclib_global/vectors/mu", order.mu);
  if (order.equality_rows > 0) {
    write_matrix(out, "/fclib_global/G", std::move(G));
    out.numbers("/fclib_global/vectors/b", part(order, b, true));
  }
  write_info(out, "/fclib_global", recorded);
}

}  // namespace

RecordedProblem parse_fclib(std::string_view bytes, const std::string& name) {
  const hdf5::Reader in(bytes, name);
  RecordedProblem recorded;
  if (in.has("/fclib_local")) {
    const std::string root = "/fclib_local";
    require_3d(in, root + "/spacedim");
    fclib::Local data;
    data.W = read_matrix(in, root + "/W");
    data.q = in.numbers(root + "/vectors/q");
    data.mu = in.numbers(root + "/vectors/mu");
    data.s = read_optional(in, root + "/vectors/s");
    if (!data.s.empty()) {
      data.V = read_matrix(in, root + "/V");
      data.R = read_matrix(in, root + "/R");
    }
    recorded.problem = fclib::assemble(data, name);
    read_info(in, root, recorded);
  } else if (in.has("/fclib_global")) {
    const std::string root = "/fclib_global";
    require_3d(in, root + "/spacedim");
    fclib::Global data;
    data.M = read_matrix(in, root + "/M");
    data.H = read_matrix(in, root + "/H");
    data.f = in.numbers(root + "/vectors/f");
    data.w = in.numbers(root + "/vectors/w");
    data.mu = in.numbers(root + "/vectors/mu");
    data.b = read_optional(in, root + "/vectors/b");
    if (!data.b.empty()) data.G = read_matrix(in, root + "/G");
    recorded.problem = fclib::assemble(data, name, recorded.dof);
    read_info(in, root, recorded);
  } else {
    in.fail("", "there is neither /fclib_local nor /fclib_global", "give an FCLIB file with a local or global problem");
  }
  return recorded;
}

RecordedProblem load_problem(const std::filesystem::path& file) {
  const std::string bytes = read_file(file, file_kind::kProblem);
  const bool is_hdf5 = bytes.starts_with("\x89HDF\r\n\x1a\n");
  return is_hdf5 ? parse_fclib(bytes, file.string()) : parse_siconos_text(bytes, file.string());
}

void write_fclib(const std::filesystem::path& file, const RecordedProblem& recorded, FclibForm form) {
  const ContactProblem& problem = recorded.problem;
  if (form == FclibForm::kGlobal && (!problem.has_primal() || !problem.R.isZero(0.0))) {
    throw Error({.where = {file.string(), 0, ""},
                 .message = "a global problem needs A, J and v_free, and no compliance R",
                 .remedy = "write the local problem"});
  }
  const RowOrder order = order_rows(problem, file.string());
  hdf5::Writer out(file);
  form == FclibForm::kLocal ? write_local(out, recorded, order) : write_global(out, recorded, order);
  out.save();
}

}  // namespace touchstone
