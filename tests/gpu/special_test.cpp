// Models as constants (gpu/special.hpp): the header against the tables, the compiler for kernels, and their cache.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "diff/random_loops.hpp"
#include "support/random_model.hpp"
#include "support/robot_runs.hpp"
#include "support/world_fixture.hpp"
#include "touchstone/geometry/mass_properties.hpp"
#include "touchstone/gpu/batch_view.hpp"
#include "touchstone/gpu/special.hpp"
#include "touchstone/model/builder.hpp"
#include "touchstone/sim/model_arrays.hpp"

namespace touchstone::test {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class SpecialFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / (std::string("touchstone_special_") + test->name() + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

using KernelCacheTest = SpecialFolder;
using SpecialModelTest = SpecialFolder;

gpu::KernelKey key_of(const std::string& text) {
  gpu::KernelKey key;
  key.add(text);
  return key;
}

TEST(KernelKey, TellsTextsFromEachOther) {
  gpu::KernelKey ab_c, a_bc;
  ab_c.add("ab"), ab_c.add("c");
  a_bc.add("a"), a_bc.add("bc");
  EXPECT_NE(ab_c.name(), a_bc.name());
  EXPECT_NE(key_of("x").name(), key_of("y").name());
  EXPECT_EQ(key_of("x").name(), key_of("x").name());
  EXPECT_EQ(key_of("x").name().size(), 32u);
}

TEST_F(KernelCacheTest, KeepsWhatItIsGivenAndNothingDamaged) {
  const gpu::KernelCache cache(folder_ / "deep" / "er");
  const std::string code = std::string("\x7f") + "ELF" + '\0' + "with a zero";
  EXPECT_EQ(cache.find(key_of("a")), "");
  cache.store(key_of("a"), code);
  EXPECT_EQ(cache.find(key_of("a")), code);
  EXPECT_EQ(cache.find(key_of("b")), "");
  const fs::path file = folder_ / "deep" / "er" / (key_of("a").name() + ".cubin");
  const auto size = fs::file_size(file);
  fs::resize_file(file, size - 1);  // a disk that was full
  EXPECT_EQ(cache.find(key_of("a")), "");
  cache.store(key_of("a"), code);
  EXPECT_EQ(cache.find(key_of("a")), code);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(size) - 2)
      << '!';
  EXPECT_EQ(cache.find(key_of("a")), "");
  fs::rename(file, folder_ / "deep" / "er" / (key_of("b").name() + ".cubin"));  // code of another key
  EXPECT_EQ(cache.find(key_of("b")), "");
}

TEST_F(KernelCacheTest, DropsWhatWasNotUsedForTheLongestTime) {
  constexpr int kMost = 3;
  const gpu::KernelCache cache(folder_, kMost);
  for (int k = 0; k < kMost; ++k) {
    cache.store(key_of(std::to_string(k)), "code");
    fs::last_write_time(folder_ / (key_of(std::to_string(k)).name() + ".cubin"),
                        fs::file_time_type::clock::now() - std::chrono::hours(10 - k));
  }
  EXPECT_EQ(cache.find(key_of("0")), "code");  // used: the youngest now
  cache.store(key_of("new"), "code");
  EXPECT_EQ(cache.find(key_of("0")), "code");
  EXPECT_EQ(cache.find(key_of("1")), "");
  EXPECT_EQ(cache.find(key_of("new")), "code");
}

TEST_F(KernelCacheTest, ManyWritersAndReadersSeeWholeFiles) {
  const gpu::KernelCache cache(folder_);
  const std::string code(300000, 'x');
  std::vector<std::thread> threads;
  threads.reserve(8);
  std::atomic<int> damaged{0}, found{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) {
        if (t % 2 == 0) cache.store(key_of("shared"), code);
        const std::string seen = cache.find(key_of("shared"));
        if (!seen.empty()) ++found;
        if (!seen.empty() && seen != code) ++damaged;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_GE(found, 80);  // every writer finds what it wrote; readers may all come before the first
}

TEST_F(KernelCacheTest, DoesWithoutAFolder) {
  std::ofstream(folder_ / "file") << "no folder";
  for (const std::string& folder : {std::string(), (folder_ / "file" / "below").string()}) {
    const gpu::KernelCache cache(folder);
    cache.store(key_of("a"), "code");
    EXPECT_EQ(cache.find(key_of("a")), "");
  }
}

// --- the model as constants ---

using SpecialStep = void (*)(const gpu::BatchView*, const gpu::StepOptions*, const gpu::Pool*, char*);

gpu::SpecialShape shape_of(const gpu::ModelArrays& arrays) {
  return {gpu::full_pool(arrays.sizes, 8), gpu::full_pool(arrays.sizes, 48), {}};
}

// tests/gpu/special_lane.cpp with the header of a model. Null where there is no compiler.
SpecialStep compile_lane(const gpu::ModelArrays& arrays, const fs::path& folder) {
  const fs::path header = folder / "touchstone" / "gpu" / "special_model.hpp";
  fs::create_directories(header.parent_path());
  std::ofstream(header) << gpu::special_model_header(arrays, shape_of(arrays));
  const std::string library = (folder / "lane.so").string(), include = (folder / "include").string();
  fs::create_directories(fs::path(include) / "touchstone");
  fs::create_directory_symlink(TOUCHSTONE_SOURCE_DIR "/src/gpu", fs::path(include) / "touchstone" / "gpu");
  const std::string command = std::string(TOUCHSTONE_CXX) + " -std=c++20 -w -O0 -fPIC -shared -fvisibility=hidden " +
                              "-DTOUCHSTONE_SPECIAL_MODEL -I" + folder.string() + " -I" + include + " " +
                              TOUCHSTONE_SOURCE_DIR "/tests/gpu/special_lane.cpp -o " + library;
  if (std::system((std::string(TOUCHSTONE_CXX) + " --version > /dev/null 2>&1").c_str()) != 0) return nullptr;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(loaded, nullptr);
  return loaded != nullptr ? reinterpret_cast<SpecialStep>(dlsym(loaded, "special_step")) : nullptr;
}

// The arrays of one world.
struct OneWorld {
  OneWorld(const gpu::ModelArrays& arrays, const gpu::Pool& pool)
      : q(arrays.reference_q),
        v(at(arrays.sizes.nv)),
        activation(at(arrays.sizes.na)),
        control(at(arrays.sizes.nu)),
        force(at(arrays.sizes.nv)),
        key(at(pool.blocks)),
        impulse(6 * at(pool.blocks)),
        sensors(at(arrays.sizes.sensor_numbers)),
        loop_q(arrays.reference_loop),
        mocap_before(at(7 * arrays.sizes.followed)) {
    view = {1,
            pool.blocks,
            q.data(),
            v.data(),
            activation.data(),
            control.data(),
            force.data(),
            &natv,
            &time,
            &status,
            &contacts,
            &sweeps,
            &since,
            &reach,
            &count,
            key.data(),
            impulse.data(),
            sensors.data(),
            loop_q.data(),
            mocap_before.data(),
            {}};
  }
  std::vector<double> q, v, activation, control, force;
  double natv = 0.0, time = 0.0, since = 0.0, reach = 0.0;
  int status = 0, contacts = 0, sweeps = 0, count = 0;
  std::vector<std::int64_t> key;
  std::vector<double> impulse, sensors, loop_q, mocap_before;
  gpu::BatchView view;
};

// Steps of a model by its tables and by its constants, from the same states.
void expect_same_steps(const Model& model, const State& start, std::mt19937_64& random, const fs::path& folder) {
  const gpu::ModelArrays arrays = make_model_arrays(model, backend_options());
  const SpecialStep special = compile_lane(arrays, folder);
  if (special == nullptr) GTEST_SKIP() << "no compiler " << TOUCHSTONE_CXX;
  const gpu::Pool pool = gpu::full_pool(arrays.sizes, 64);
  std::vector<char> memory(gpu::scratch_bytes<double>(arrays.sizes, pool) + gpu::pass_bytes(arrays.sizes, pool) + 16);
  gpu::StepOptions options;
  options.tolerance = 1e-10;
  options.most_sweeps = 2000;
  OneWorld a(arrays, pool), b(arrays, pool);
  a.q.assign(start.q.begin(), start.q.end()), b.q = a.q;
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const gpu::ModelView tables = gpu::view_of(arrays);
  double moved = 0.0;
  for (int k = 0; k < 40; ++k) {
    for (double& control : a.control) control = uniform(random);
    for (double& v : a.v) v = uniform(random);  // anew: a motion that grows would grow the rounding with it
    b.control = a.control, b.v = a.v, b.q = a.q, b.activation = a.activation;
    b.count = a.count, b.key = a.key, b.impulse = a.impulse;
    gpu::WorldState world = a.view.world(arrays.sizes, 0);
    gpu::Scratch<double> scratch;
    gpu::PassMemory pass;
    gpu::carve_pass(arrays.sizes, pool, memory.data() + gpu::carve(arrays.sizes, pool, memory.data(), scratch), pass);
    gpu::with_serial_team(arrays.sizes,
                          [&](const auto& team) { gpu::finish_world(team, tables, options, world, scratch, pass); });
    special(&b.view, &options, &pool, memory.data());
    ASSERT_EQ(a.status, b.status);
    ASSERT_EQ(a.contacts, b.contacts);
    // Sweeps that have not converged turn the rounding of other code into more.
    const double tolerance = a.status == 0 && a.natv < 1e-9 ? 1e-8 : 1e-4;
    for (std::size_t i = 0; i < a.v.size(); ++i)
      ASSERT_NEAR(a.v[i], b.v[i], tolerance * (1.0 + std::abs(a.v[i]))) << "dof " << i << ", step " << k;
    for (std::size_t i = 0; i < a.sensors.size() && tolerance < 1e-7; ++i)
      ASSERT_NEAR(a.sensors[i], b.sensors[i], 1e-5 * (1.0 + std::abs(a.sensors[i]))) << "sensor number " << i;
    for (std::size_t i = 0; i < a.v.size(); ++i) moved += std::abs(a.v[i]);
  }
  EXPECT_GT(moved, 1.0);
}

// A free trunk with two chains above a floor: its tables follow rules. `dimension`: of its contacts.
ModelPtr walker(int dimension = 3) {
  ModelBuilder builder("walker");
  const Shape ball{.type = ShapeType::kSphere, .size = Vector3(0.05, 0.05, 0.05)};
  const Shape box{.type = ShapeType::kBox, .size = Vector3(0.1, 0.1, 0.05)};
  builder.add_shape({.name = "floor", .shape = {.type = ShapeType::kPlane}});
  int parent = 0, trunk = 0;
  for (int k = 0; k < 7; ++k) {
    const Shape& shape = k % 3 == 0 ? box : ball;
    const Vector3 place = k == 0 ? Vector3(0, 0, 0.06) : Vector3(0.25, 0.1 * k, 0);
    const int body = builder.add_body({.name = "body" + std::to_string(k),
                                       .parent = k == 4 ? trunk : parent,
                                       .pose = {place, Quaternion::Identity()},
                                       .inertia = mass_properties(shape, 800.0 + 100.0 * k)});
    builder.add_joint({.body = body, .type = k == 0 ? JointType::kFree : JointType::kHinge});
    ShapeElement element{.name = "shape" + std::to_string(k), .body = body, .shape = shape};
    element.contact_dimension = dimension;
    builder.add_shape(element);
    parent = body;
    if (k == 0) trunk = body;
  }
  return builder.build();
}

TEST_F(SpecialModelTest, StepsOfAWalkerAreThoseOfItsTables) {
  std::mt19937_64 random(2);
  const ModelPtr model = walker();
  expect_same_steps(*model, State(*model), random, folder_);
}

TEST_F(SpecialModelTest, StepsWithRollingFrictionAreThoseOfTheirTables) {
  std::mt19937_64 random(6);
  const ModelPtr model = walker(6);
  ASSERT_GT(make_model_arrays(*model, backend_options()).sizes.cones, 0);
  expect_same_steps(*model, State(*model), random, folder_);
}

// Spring, armature, motors and a coupling along the coordinate of a loop joint.
TEST_F(SpecialModelTest, StepsWithCoordinatesOfLoopJointsAreThoseOfTheirTables) {
  std::mt19937_64 random(5);
  const auto [model, start] = looped(LoopJointType::kScrew, random, true, 0.01);
  ASSERT_TRUE(gpu::is_full(make_model_arrays(*model, backend_options()).sizes));
  expect_same_steps(*model, start, random, folder_);
}

// Without loops, which over-determine a random tree; Cassie has some.
TEST_F(SpecialModelTest, StepsOfARandomTreeAreThoseOfItsTables) {
  std::mt19937_64 random(3);
  std::shared_ptr<Model> model;
  do {
    model = std::make_shared<Model>(*random_bound_model(random, {.bodies = 9, .damping = true}));
    model->options.equalities_enabled = false;
  } while (!unsupported_features(*model).empty() || gpu::is_general(make_model_arrays(*model).sizes));
  expect_same_steps(*model, State(*model), random, folder_);
}

TEST_F(SpecialModelTest, StepsOfRobotsAreThoseOfTheirTables) {
  int robots = 0;
  for (const RobotFile& file : robot_files()) {
    const auto is = [&](const char* name) { return file.name.find(name) != std::string::npos; };
    if (!is("cassie/scene") && !is("humanoid/humanoid.xml")) continue;
    const RobotSetup setup = set_up(file);
    std::mt19937_64 random(4);
    const fs::path folder = folder_ / std::to_string(robots++);
    expect_same_steps(*setup.model, setup.start, random, folder);
  }
  if (robots == 0) GTEST_SKIP() << "no robots; set TOUCHSTONE_DATA to the folder that holds models/";
}

// --- the compiler ---

TEST_F(SpecialModelTest, KernelsAreCompiledOnceWhereThereIsACompiler) {
  std::string problem;
  if (gpu::runtime_compiler(problem).empty()) GTEST_SKIP() << problem;
  const ModelPtr model = walker(6);  // with what a GeneralTeam compiles
  const gpu::ModelArrays arrays = make_model_arrays(*model);
  const gpu::KernelCache cache(folder_);
  const auto compile = [&] {
    return gpu::special_code(arrays, shape_of(arrays), "sm_90", gpu::embedded_sources(), cache);
  };
  const gpu::CompiledProgram first = compile();
  ASSERT_EQ(first.problem, "");
  for (const char* name : {"special_tree", "special_collide", "special_solve", "special_finish"})
    EXPECT_NE(first.code.find(name), std::string::npos) << name;
  const auto files = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  EXPECT_EQ(files, 1);
  EXPECT_EQ(compile().code, first.code);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), files);
}

// Their worlds are left to the third tier, of tables.
TEST_F(SpecialModelTest, KernelsOfLoopsByTheMidpointRuleAreCompiled) {
  std::string problem;
  if (gpu::runtime_compiler(problem).empty()) GTEST_SKIP() << problem;
  std::mt19937_64 random(8);
  const ModelPtr model = looped(LoopJointType::kScrew, random, true, 0.01).first;
  SimulatorOptions options = backend_options();
  options.integrator = Integrator::kMoreauMidpoint;
  const gpu::ModelArrays arrays = make_model_arrays(*model, options);
  ASSERT_GT(arrays.sizes.old_velocity, 0);
  const gpu::KernelCache cache(folder_);
  EXPECT_EQ(gpu::special_code(arrays, shape_of(arrays), "sm_90", gpu::embedded_sources(), cache).problem, "");
}

TEST_F(SpecialModelTest, WhatDoesNotCompileIsSaid) {
  std::string problem;
  if (gpu::runtime_compiler(problem).empty()) GTEST_SKIP() << problem;
  const gpu::CompiledProgram program = gpu::compile_at_run_time("int main( {", {}, {"--gpu-architecture=sm_90"});
  EXPECT_EQ(program.code, "");
  EXPECT_NE(program.problem.find("touchstone.cu(1)"), std::string::npos) << program.problem;
}

TEST(SpecialModel, HeadersHaveEveryBit) {
  gpu::ModelArrays arrays;
  arrays.sizes.nv = 7;
  arrays.shape_radius = {INFINITY, 0.1, 1.0 / 3.0};
  arrays.joint_type = {0, 2, 2, 2, 2};
  arrays.joint_q = {0, 7, 8, 9, 10};
  arrays.joint_dof = {0, 6, 7, 9, 10};
  arrays.pair_friction = {0.8, 0.8};
  const std::string text = gpu::special_model_header(arrays, shape_of(arrays));
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(has("shape_radius[] = {kInfinite,0x1.999999999999ap-4,0x1.5555555555555p-2,}"));
  EXPECT_TRUE(has("static_cast<int>(i) < 1 ? 0 : 2;")) << text;
  EXPECT_TRUE(has("static_cast<int>(i) < 1 ? 0 : static_cast<int>(i) + 6;"));
  EXPECT_TRUE(has("static constexpr const int* joint_dof = special::joint_dof;"));  // by no rule
  EXPECT_TRUE(has("const { return 0x1.999999999999ap-1; }"));
  EXPECT_TRUE(has("static constexpr const int* body_parent = nullptr;"));
}

}  // namespace
}  // namespace touchstone::test
