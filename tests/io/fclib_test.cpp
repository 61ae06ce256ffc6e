#include "touchstone/io/fclib.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <Eigen/LU>

#include "touchstone/base/error.hpp"
#include "touchstone/contact/certify.hpp"
#include "touchstone/contact/dual.hpp"
#include "touchstone/contact/generate.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::string text_error(const std::string& text) {
  return message_of([&] { parse_siconos_text(text, "a.dat"); });
}

class FclibTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("touchstone_fclib_" + name + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path file(const std::string& name) const { return folder_ / name; }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

  fs::path folder_;
};

// Two contacts with numbers that show where each goes: W = diag(1..6), W(0, 4) = 7 in the file's order.
const char* const kDense =
    "3 2\n0 6 6\n6 6\n"
    "1 0 0 0 0 0  0 2 0 0 0 0  0 0 3 0 0 0  0 0 0 4 0 0  7 0 0 0 5 0  0 0 0 0 0 6\n"
    "-10 20 30 -40 50 60\n0.5 0.25\nwhatever trails";

TEST_F(FclibTest, NormalBecomesLast) {
  const ContactProblem problem = parse_siconos_text(kDense, "a.dat").problem;
  ASSERT_EQ(problem.nblock(), 2);
  const MatrixX G = problem.dual.G_sparse.dense();
  EXPECT_EQ(G.diagonal(), (VectorX(6) << 2, 3, 1, 5, 6, 4).finished());
  EXPECT_EQ(G(2, 3), 7.0);  // the normal of the first on the first tangent of the second
  EXPECT_EQ(G.sum(), 28.0);
  EXPECT_EQ(problem.dual.g, (VectorX(6) << 20, 30, -10, 50, 60, -40).finished());
  EXPECT_EQ(problem.blocks.mu, (std::vector<double>{0.5, 0.5, 0, 0.25, 0.25, 0}));
}

TEST_F(FclibTest, TextOfBlocksAsDense) {
  const ContactProblem problem = parse_siconos_text(
                                     "3 2 1 6 6 3 2 2 3 6 3 6 3 3 0 2 3 0 1 1"
                                     " 0  1 0 0 0 2 0 0 0 3"
                                     " 1  0 0 0 7 0 0 0 0 0"
                                     " 2  4 0 0 0 5 0 0 0 6"
                                     " -10 20 30 -40 50 60 0.5 0.25",
                                     "a.dat")
                                     .problem;
  EXPECT_EQ(problem.dual.G_sparse.dense(), parse_siconos_text(kDense, "b.dat").problem.dual.G_sparse.dense());
}

TEST_F(FclibTest, GlobalTextIsKnownByItsSecondMatrix) {
  // One body of mass 2 with three dofs that touches with its normal first.
  const ContactProblem problem =
      parse_siconos_text("3 1 0 3 3 3 3 2 0 0 0 2 0 0 0 2  0 3 3 3 3 1 0 0 0 1 0 0 0 1  -4 2 0  0.1 0.2 0.3  0.7",
                         "g.dat")
          .problem;
  ASSERT_TRUE(problem.has_primal());
  EXPECT_EQ(problem.primal.A->nclique(), 3);  // a diagonal M couples nothing
  EXPECT_LE((problem.primal.v_free - Vector3(-2, 1, 0)).norm(), 1e-15);
  EXPECT_EQ(problem.b, Vector3(0.2, 0.3, 0.1));
  EXPECT_LE((problem.primal.J * problem.primal.v_free - Vector3(1, 0, -2)).norm(), 1e-15);
}

TEST_F(FclibTest, BrokenTextIsNamed) {
  EXPECT_THAT(text_error(""), HasSubstr("a.dat:1: the file ends where the dimension should be"));
  EXPECT_THAT(text_error("2 1 0 2 2"), HasSubstr("two-dimensional"));
  EXPECT_THAT(text_error("3 1.5"), HasSubstr("the number of contacts is 1.5"));
  EXPECT_THAT(text_error("3 1 0 3 3 3 3\n1 0 0 0 x 0 0 0 1 0 0 0 0.5"), HasSubstr("a.dat:2: 'x' is no number"));
  EXPECT_THAT(text_error("3 1 0 3 3 3 3 1 0 0 0 1"), HasSubstr("more than the rest of the file can hold"));
  EXPECT_THAT(text_error("3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 nan 0 0 0.5"), HasSubstr("'nan' is no number"));
  EXPECT_THAT(text_error("3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 0 0 0 -0.5"), HasSubstr("the friction of contact 0 is -0.5"));
  EXPECT_THAT(text_error("3 1 0 3 3 3 3 1e-200 0 0 0 1 0 0 0 1  0 3 3 3 3 1 0 0 0 1 0 0 0 1  1e200 0 0  0 0 0  0.7"),
              HasSubstr("a.dat: problem: v_free is inf at dof 0, though each number is finite"));
  EXPECT_THAT(text_error("3 90000000 0 90000000 90000000 90000000 90000000 1"),
              HasSubstr("more than the rest of the file"));
  EXPECT_THAT(text_error("3 1 2 3 3"), HasSubstr("the type of a matrix"));
  EXPECT_THAT(text_error("3 1 1 3 3 1 1 1 2 3"), HasSubstr("the blocks end at 2, the matrix at 3"));
  EXPECT_THAT(text_error("3 1 1 3 3 1 1 1 3 3 2 1 0 1 4"), HasSubstr("a column index is 4"));
  EXPECT_THAT(message_of([] { load_problem("no/such/file.hdf5"); }), HasSubstr("no/such/file.hdf5: no such file"));
}

// What is written is read again, local and global, with equalities.
TEST_F(FclibTest, RoundTrip) {
  SceneBuilder scene;
  const int a = scene.add_box(2.0, {0, 0, 0.5}, {0.5, 0.4, 0.5}, {0.3, 0.1, 0}),
            b = scene.add_sphere(1.0, {0, 0, 1.5}, 0.5);
  scene.add_contact(-1, a, {0.5, 0.4, 0}, {0.1, 0.2, 1}, 0.3);
  scene.add_ball_joint(a, b, {0, 0, 1});
  scene.add_contact(-1, a, {-0.5, -0.4, 0}, {0, 0, 1}, 0.6);
  RecordedProblem recorded;
  recorded.problem = scene.finish();
  recorded.problem.b = VectorX::Random(recorded.problem.nrow());
  recorded.title = "two bodies";
  recorded.description = "a box with a \"ball\"";
  DualProblem expected;
  ASSERT_TRUE(prepare_dual(recorded.problem, {.scaling = DualScaling::kUnits}, expected).usable());
  const VectorX g = expected.u_scale.cwiseProduct(expected.g);
  // In the file the contacts come first and an equality of three rows becomes three.
  std::vector<int> order{0, 1, 2, 6, 7, 8, 3, 4, 5};
  for (const FclibForm form : {FclibForm::kLocal, FclibForm::kGlobal}) {
    write_fclib(file("a.hdf5"), recorded, form);
    const RecordedProblem again = load_problem(file("a.hdf5"));
    EXPECT_EQ(again.title, "two bodies");
    EXPECT_EQ(again.description, recorded.description);
    EXPECT_EQ(again.problem.has_primal(), form == FclibForm::kGlobal);
    ASSERT_EQ(again.problem.nblock(), 5);
    EXPECT_EQ(again.problem.blocks.mu[0], 0.3);
    EXPECT_EQ(again.problem.blocks.mu[3], 0.6);
    DualProblem dual;
    ASSERT_TRUE(prepare_dual(again.problem, {.scaling = DualScaling::kUnits}, dual).usable());
    const MatrixX G = expected.G.dense(), read = dual.G.dense();
    for (int r = 0; r < 9; ++r) {
      EXPECT_NEAR(dual.u_scale[r] * dual.g[r], g[order[static_cast<std::size_t>(r)]], 1e-14);
      for (int c = 0; c < 9; ++c)
        EXPECT_NEAR(read(r, c), G(order[static_cast<std::size_t>(r)], order[static_cast<std::size_t>(c)]), 1e-14);
    }
  }
}

TEST_F(FclibTest, WhatFclibLacksIsRefused) {
  RecordedProblem recorded;
  recorded.problem.blocks.add_box(-1, 1);
  recorded.problem.dual.set(MatrixX(MatrixX::Ones(1, 1)), VectorX::Ones(1));
  EXPECT_THROW(write_fclib(file("a.hdf5"), recorded, FclibForm::kLocal), Error);
  EXPECT_THROW(write_fclib(file("a.hdf5"), recorded, FclibForm::kGlobal), Error);
  recorded.problem = make_random_problem({.contacts = 1}, 1);
  recorded.problem.blocks.mu[0] += 0.1;
  EXPECT_THROW(write_fclib(file("a.hdf5"), recorded, FclibForm::kLocal), Error);
  recorded.problem = make_cube({1, 0, 0});
  EXPECT_THROW(write_fclib(file("no/such/folder/a.hdf5"), recorded, FclibForm::kLocal), Error);
}

// --- Damaged HDF5 ---

class DamagedFclib : public FclibTest {
 protected:
  void SetUp() override {
    FclibTest::SetUp();
    RecordedProblem recorded;
    recorded.problem = make_cube({1, 0, 0});
    write_fclib(file("good.hdf5"), recorded, FclibForm::kLocal);
  }

  // Replaces a data set of a copy of the good file, and returns the message of reading that.
  template <typename T>
  std::string with(const std::string& path, hid_t type, const std::vector<T>& values) {
    fs::copy_file(file("good.hdf5"), file("bad.hdf5"), fs::copy_options::overwrite_existing);
    const hid_t id = H5Fopen(file("bad.hdf5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(id, path.c_str(), H5P_DEFAULT);
    if (!values.empty()) {
      const hsize_t size = values.size();
      const hid_t space = H5Screate_simple(1, &size, nullptr);
      const hid_t set = H5Dcreate2(id, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      H5Dclose(set);
      H5Sclose(space);
    }
    H5Fclose(id);
    return message_of([&] { load_problem(file("bad.hdf5")); });
  }
  std::string with_integers(const std::string& path, const std::vector<int>& values) {
    return with("/fclib_local/" + path, H5T_NATIVE_INT, values);
  }
  std::string with_numbers(const std::string& path, const std::vector<double>& values) {
    return with("/fclib_local/" + path, H5T_NATIVE_DOUBLE, values);
  }
};

TEST_F(DamagedFclib, IsNamed) {
  EXPECT_THAT(with_integers("spacedim", {2}), HasSubstr("/fclib_local/spacedim: the dimension is 2"));
  EXPECT_THAT(with_integers("spacedim", {}), HasSubstr("/fclib_local/spacedim: it is missing"));
  EXPECT_THAT(with_numbers("spacedim", {3.0}), HasSubstr("it holds floating-point numbers, expected integers"));
  EXPECT_THAT(with_integers("spacedim", {3, 3}), HasSubstr("it has 2 entries, expected 1"));
  EXPECT_THAT(with("/fclib_local/spacedim", H5T_NATIVE_LLONG, std::vector<long long>{1LL << 40}),
              HasSubstr("too large"));
  EXPECT_THAT(with_integers("W/m", {-3}), HasSubstr("/fclib_local/W: its size is -3 x 12"));
  EXPECT_THAT(with_integers("W/m", {15}), HasSubstr("W: it is 15 x 12, expected 12 x 12"));
  EXPECT_THAT(with_integers("W/n", {2000000000}),
              HasSubstr("/fclib_local/W/p: it has 13 entries, expected 2000000001"));
  EXPECT_THAT(with_integers("W/nz", {-3}), HasSubstr("it is -3, expected -1, -2 or the number of triplets"));
  EXPECT_THAT(with_integers("W/nz", {1000}), HasSubstr("it says 1000 triplets"));
  EXPECT_THAT(with_integers("W/p", std::vector<int>(13, 500)), HasSubstr("/fclib_local/W/p: entry 1 is 500"));
  EXPECT_THAT(with_integers("W/i", std::vector<int>(144, -1)), HasSubstr("/fclib_local/W/i: entry 0 is -1"));
  EXPECT_THAT(with_numbers("W/x", {1.0, 2.0}), HasSubstr("beyond the 2 values"));
  EXPECT_THAT(with_numbers("vectors/q", {1.0, 2.0}), HasSubstr("q: it has 2 numbers, expected 12"));
  EXPECT_THAT(with_numbers("vectors/q", std::vector<double>(12, NAN)), HasSubstr("q: number 0 is nan"));
  EXPECT_THAT(with_numbers("vectors/mu", {0.1, 0.1, 0.1, -0.1}), HasSubstr("the friction of contact 3 is -0.1"));
  EXPECT_THAT(with_numbers("vectors/mu", {0.1, INFINITY, 0.1, 0.1}), HasSubstr("the friction of contact 1 is inf"));
  EXPECT_THAT(with_numbers("vectors/mu", {0.1}), HasSubstr("expected 3 x 3"));
  EXPECT_THAT(with_integers("vectors", {1}), HasSubstr("/fclib_local/vectors/q: it is missing"));
  EXPECT_THAT(with("/fclib_local", H5T_NATIVE_INT, std::vector<int>{}),
              HasSubstr("neither /fclib_local nor /fclib_global"));
}

TEST_F(DamagedFclib, ClaimsMoreThanTheFileHolds) {
  fs::copy_file(file("good.hdf5"), file("bad.hdf5"));
  const hid_t id = H5Fopen(file("bad.hdf5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, "/fclib_local/W/x", H5P_DEFAULT);
  // A data set of 8 TB of which nothing is stored, in chunks.
  const hsize_t size = 1ULL << 40, chunk = 1024;
  const hid_t space = H5Screate_simple(1, &size, nullptr), layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(layout, 1, &chunk);
  const hid_t set = H5Dcreate2(id, "/fclib_local/W/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  H5Dclose(set);
  H5Pclose(layout);
  H5Sclose(space);
  H5Fclose(id);
  EXPECT_THAT(message_of([&] { load_problem(file("bad.hdf5")); }), HasSubstr("it claims 1099511627776 entries"));
}

// HDF5 would make room for one entry, however large its type says it is.
TEST_F(DamagedFclib, ClaimsHugeEntries) {
  for (const bool text : {false, true}) {
    const hid_t type = H5Tcopy(text ? H5T_C_S1 : H5T_STD_I64LE);
    H5Tset_size(type, text ? std::size_t{1} << 31 : 64);
    fs::copy_file(file("good.hdf5"), file("bad.hdf5"), fs::copy_options::overwrite_existing);
    const hid_t id = H5Fopen(file("bad.hdf5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const char* path = text ? "/fclib_local/info/title" : "/fclib_local/spacedim";
    if (H5Lexists(id, "/fclib_local/info", H5P_DEFAULT) <= 0)
      H5Gclose(H5Gcreate2(id, "/fclib_local/info", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (H5Lexists(id, path, H5P_DEFAULT) > 0) H5Ldelete(id, path, H5P_DEFAULT);
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(id, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
    H5Fclose(id);
    H5Tclose(type);
    EXPECT_THAT(message_of([&] { load_problem(file("bad.hdf5")); }),
                HasSubstr(text ? "claims to have 2147483648 bytes" : "claims to have 64 bytes"));
  }
}

TEST_F(DamagedFclib, TruncatedAnywhere) {
  const std::string bytes = bytes_of(file("good.hdf5"));
  ASSERT_GT(bytes.size(), 2000u);
  for (std::size_t length = 0; length + 1 < bytes.size(); length += 97) {
    const std::string message = message_of([&] { parse_fclib({bytes.data(), length}, "cut.hdf5"); });
    EXPECT_THAT(message, HasSubstr("cut.hdf5")) << length;
  }
}

// Some files hold one triangle of M, and M may couple dofs that are not neighbours.
TEST_F(FclibTest, TriangleAndScatteredDofs) {
  // M couples dofs 0 and 2: [[2, 1], [1, 2]]; dof 1 is alone with 4. One contact on all three.
  const std::string triangle = "0 3 3 3 3 2 0 0 0 4 0 1 0 2 ", full = "0 3 3 3 3 2 0 1 0 4 0 1 0 2 ";
  const std::string rest = "0 3 3 3 3 1 0 0 0 1 0 0 0 1 3 4 3 0 0 0 0.5";
  for (const std::string& M : {triangle, full}) {
    const RecordedProblem recorded = parse_siconos_text("3 1 " + M + rest, "g.dat");
    const PrimalData& primal = recorded.problem.primal;
    ASSERT_EQ(primal.A->nclique(), 2);
    EXPECT_EQ(recorded.dof, (std::vector<int>{0, 2, 1}));
    EXPECT_EQ(primal.A->matrix().dense().topLeftCorner(2, 2), (Eigen::Matrix2d() << 2, 1, 1, 2).finished());
    EXPECT_LE((primal.v_free - Vector3(1, 1, 1)).norm(), 1e-15);
  }
}

}  // namespace
}  // namespace touchstone
