// Recordings that are not what they say: damaged on the disk, or made up to do harm.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/memory.hpp"
#include "touchstone/record/recording.hpp"
#include "touchstone/scenes/scene_run.hpp"
#include "touchstone/scenes/scenes.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DamagedRecordings : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / ("touchstone_damaged_" + std::string(test->name()) + std::to_string(getpid()));
    fs::create_directories(folder_);
    file_ = folder_ / "run.h5";
    SceneRun run(make_scene("stack:3"));
    RecordingWriter writer(file_, run.simulator(), {.chunk = 16});
    for (int i = 0; i < 100; ++i) {
      run.step();
      writer.add(run.simulator());
    }
    writer.close();
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Changes one entry of a data set.
  template <typename Number>
  void change(const char* path, hid_t type, std::size_t entry, Number value) const {
    edit([&](hid_t file) {
      const hid_t set = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(set);
      std::vector<Number> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
      ASSERT_GT(values.size(), entry);
      ASSERT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
      values[entry] = value;
      ASSERT_GE(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
      H5Sclose(space);
      H5Dclose(set);
    });
  }
  void edit(const std::function<void(hid_t)>& change) const {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, access);
    ASSERT_GE(file, 0);
    change(file);
    H5Fclose(file);
    H5Pclose(access);
  }
  // Puts another data set in the place of one.
  void replace(const char* path, const std::function<void(hid_t)>& make) const {
    edit([&](hid_t file) {
      ASSERT_GE(H5Ldelete(file, path, H5P_DEFAULT), 0);
      make(file);
    });
  }
  std::string refusal() const {
    try {
      const Recording recording(file_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_, file_;
};

TEST_F(DamagedRecordings, WholeOnesHaveNoDamage) {
  const Recording recording(file_);
  EXPECT_EQ(recording.damage(), "");
  EXPECT_TRUE(recording.complete());
  EXPECT_EQ(recording.rows(), 101U);
}

// Files of old writers have no columns of events: zeros. Other columns are never left out.
TEST_F(DamagedRecordings, OldOnesHaveNoEvents) {
  for (const char* path : {"/steps/events", "/steps/newton", "/steps/last_event"})
    edit([&](hid_t file) { ASSERT_GE(H5Ldelete(file, path, H5P_DEFAULT), 0); });
  const Recording recording(file_);
  EXPECT_EQ(recording.damage(), "");
  EXPECT_EQ(recording.rows(), 101U);
  EXPECT_EQ(recording.steps().events, std::vector<std::int32_t>(101, 0));
  EXPECT_EQ(recording.steps().last_event, std::vector<double>(101, 0.0));
  edit([&](hid_t file) { ASSERT_GE(H5Ldelete(file, "/steps/iterations", H5P_DEFAULT), 0); });
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/steps/iterations"));
}

// The rows before the damage are right; what comes after is left out, and it is said where.
TEST_F(DamagedRecordings, SayWhereTheyAreDamaged) {
  const Recording whole(file_);
  const auto nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto q = static_cast<std::size_t>(whole.model()->nq);
  change("/steps/q", H5T_NATIVE_DOUBLE, 80 * q + 3, nan);
  const Recording first(file_);
  EXPECT_THAT(first.damage(), HasSubstr("/steps/q is nan in row 80"));
  EXPECT_FALSE(first.complete());
  ASSERT_EQ(first.rows(), 80U);
  EXPECT_TRUE(first.state(79) == whole.state(79));
  change("/steps/time", H5T_NATIVE_DOUBLE, 70, inf);
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/steps/time is inf in row 70"));
  change("/contacts/force", H5T_NATIVE_DOUBLE, 3 * whole.contact_start(60), nan);
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/contacts/force is nan"));
  EXPECT_EQ(Recording(file_).rows(), 60U);
  change("/contacts/shape_b", H5T_NATIVE_INT32, whole.contact_start(50), 4000);
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("names shape 4000"));
  change("/steps/contacts", H5T_NATIVE_INT32, 40, -1);
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/steps/contacts says -1 in row 40"));
  change("/steps/contacts", H5T_NATIVE_INT32, 30, std::numeric_limits<std::int32_t>::max());
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("in row 30"));
  EXPECT_EQ(Recording(file_).rows(), 30U);
}

TEST_F(DamagedRecordings, CountsMustAgree) {
  const Recording whole(file_);
  const std::size_t last = whole.rows() - 1;
  ASSERT_GT(whole.steps().contacts[last], 0);
  change("/steps/contacts", H5T_NATIVE_INT32, last, 0);
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("and /contacts has"));
}

TEST_F(DamagedRecordings, AChunkWithAWrongChecksumIsNoticed) {
  haddr_t address = 0;
  hsize_t size = 0;
  edit([&](hid_t file) {
    const hid_t set = H5Dopen2(file, "/steps/v", H5P_DEFAULT);
    std::array<hsize_t, 2> offset{48, 0};
    unsigned filters = 0;
    ASSERT_GE(H5Dget_chunk_info_by_coord(set, offset.data(), &filters, &address, &size), 0);
    H5Dclose(set);
  });
  std::fstream stream(file_, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(address + size / 2));
  stream.put('!');
  stream.close();
  const Recording recording(file_);
  EXPECT_THAT(recording.damage(), HasSubstr("/steps/v can be read up to row 48 of 101"));
  EXPECT_EQ(recording.rows(), 48U);
}

// Counts that ask for more memory than the file can hold are refused before memory is taken.
TEST_F(DamagedRecordings, HostileCountsTakeNoMemory) {
  const std::uint64_t before = resident_memory();
  for (const hsize_t rows : {hsize_t{1} << 28U, hsize_t{1} << 40U, hsize_t{1} << 59U}) {
    replace("/steps/time", [&](hid_t file) {
      const std::array<hsize_t, 2> size{rows, 1}, chunk{1024, 1};
      const hid_t space = H5Screate_simple(2, size.data(), nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_chunk(plan, 2, chunk.data());
      H5Dclose(H5Dcreate2(file, "/steps/time", H5T_IEEE_F64LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
      H5Sclose(space);
      H5Pclose(plan);
    });
    change("/meta/rows", H5T_NATIVE_INT64, 0, static_cast<std::int64_t>(rows));
    const Recording recording(file_);
    EXPECT_EQ(recording.rows(), 0U);
    EXPECT_THAT(recording.damage(), HasSubstr("/steps/time"));
  }
  change("/meta/rows", H5T_NATIVE_INT64, 0, std::int64_t{-5});
  EXPECT_THAT(refusal(), HasSubstr("damaged"));
  EXPECT_LT(resident_memory(), before + (256U << 20U));
}

// A data set may say that its numbers are in another file. They are not read: it might be a pipe, or none of our
// business.
TEST_F(DamagedRecordings, NothingOutsideTheFileIsRead) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::array<hsize_t, 2> size{101, 1};
  replace("/steps/time", [&](hid_t file) {
    const hid_t space = H5Screate_simple(2, size.data(), nullptr), plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(plan, pipe.c_str(), 0, 101 * sizeof(double));
    H5Dclose(H5Dcreate2(file, "/steps/time", H5T_IEEE_F64LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(plan);
  });
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/steps/time"));
  replace("/steps/time", [&](hid_t file) {
    H5Lcreate_external(pipe.c_str(), "/steps/time", file, "/steps/time", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_THAT(Recording(file_).damage(), HasSubstr("/steps/time"));
  replace("/model/data", [&](hid_t file) {
    H5Lcreate_external(pipe.c_str(), "/model/data", file, "/model/data", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_THAT(refusal(), HasSubstr("/model/data"));
}

TEST_F(DamagedRecordings, DamagedModelsAndOptionsAreNamed) {
  change("/model/data", H5T_NATIVE_UINT8, 200, std::uint8_t{77});
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("run.h5"), HasSubstr("damaged"), HasSubstr("model")));
}

TEST_F(DamagedRecordings, PipesAndLargeFilesAreRefused) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.h5").c_str(), 0600), 0);
  EXPECT_THROW(Recording(folder_ / "pipe.h5"), InputError);
  EXPECT_THROW(Recording("/dev/zero"), InputError);
  std::ofstream(folder_ / "large.h5") << "";
  fs::resize_file(folder_ / "large.h5", 1ULL << 41U);
  EXPECT_THROW(Recording(folder_ / "large.h5"), InputError);
}

// One after the other, some hundred bytes changed, cut out or put in: an error that names the file, or rows that are
// what they were.
TEST_F(DamagedRecordings, MutatedFilesNeverCrash) {
  std::ifstream stream(file_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const Recording whole(file_);
  const fs::path mutant = folder_ / "mutant.h5";
  int refused = 0, damaged = 0, unharmed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    std::string text = bytes;
    for (std::size_t k = 0; k <= pick(8); ++k) {
      const std::size_t at = pick(2) == 0 ? pick(std::min<std::size_t>(text.size(), 16'000)) : pick(text.size());
      switch (pick(4)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << pick(8)));
          break;
        case 2:
          text.replace(at, std::min<std::size_t>(8, text.size() - at), std::string(8, pick(2) == 0 ? '\xff' : '\0'));
          break;
        default:
          text.erase(at, pick(64));
      }
    }
    std::ofstream(mutant, std::ios::binary) << text;
    try {
      const Recording recording(mutant);
      (recording.damage().empty() ? unharmed : damaged) += 1;
      for (std::size_t row = 0; row < recording.rows(); ++row) {
        ASSERT_TRUE(recording.state(row).q.allFinite()) << seed;
        recording.report(row);
      }
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("mutant.h5")) << seed;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(damaged, 10);
  RecordProperty("refused", refused);
  RecordProperty("damaged", damaged);
  RecordProperty("unharmed", unharmed);
}

// --- a second writer ---

TEST_F(DamagedRecordings, AreLockedAgainstASecondWriter) {
  SceneRun run(make_scene("stack:2"));
  RecordingWriter writer(file_, run.simulator());
  fs::create_symlink("run.h5", folder_ / "link.h5");
  for (const char* name : {"run.h5", "link.h5"}) {
    try {
      RecordingWriter second(folder_ / name, run.simulator());
      ADD_FAILURE() << name;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr(name), HasSubstr("is writing this recording")));
    }
  }
  EXPECT_EQ(Recording(file_).damage(), "") << "and may be read";
  // Another process is kept out too.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      RecordingWriter second(file_, run.simulator());
    } catch (const InputError&) {
      status = 0;
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  writer.close();
  RecordingWriter(file_, run.simulator()).close();
  EXPECT_TRUE(Recording(file_).complete());
}

TEST_F(DamagedRecordings, TheLockEndsWithItsProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SceneRun run(make_scene("stack:2"));
    RecordingWriter writer(file_, run.simulator());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  SceneRun run(make_scene("stack:2"));
  EXPECT_NO_THROW(RecordingWriter(file_, run.simulator()).close());
}

TEST_F(DamagedRecordings, AreWrittenToRegularFilesOnly) {
  SceneRun run(make_scene("stack:2"));
  EXPECT_THROW(RecordingWriter("/dev/null", run.simulator()), InputError);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(RecordingWriter(folder_ / "pipe", run.simulator()), InputError);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(RecordingWriter(folder_ / "none" / "run.h5", run.simulator()), InputError);
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

// Names of a model that are not UTF-8 or hold escapes: the tables are UTF-8 with one line a row.
TEST_F(DamagedRecordings, TablesAreSafe) {
  Scene scene = make_scene("stack:2");
  auto model = std::make_shared<Model>(*scene.model);
  for (ShapeElement& shape : model->shapes) shape.name = "a\x1b[2J\n\xff,\"b\r" + shape.name;
  scene.model = model;
  SceneRun run(scene);
  {
    RecordingWriter writer(file_, run.simulator());
    for (int i = 0; i < 5; ++i) {
      run.step();
      writer.add(run.simulator());
    }
  }
  const Recording recording(file_);
  write_csv(recording, folder_ / "tables");
  std::ifstream stream(folder_ / "tables" / "contacts.csv", std::ios::binary);
  std::size_t lines = 0;
  for (std::string line; std::getline(stream, line); ++lines) {
    for (const char c : line) ASSERT_TRUE(c >= 0x20 && c < 0x7f) << line;
  }
  EXPECT_EQ(lines, recording.contacts().rows() + 1);
  EXPECT_THROW(write_csv(recording, folder_ / "no" / "tables"), InputError);
  EXPECT_FALSE(fs::exists(folder_ / "no"));
}

}  // namespace
}  // namespace touchstone
