// Damaged MJCF and URDF files, from a fixed seed: each loads or ends with an error that says where; what loads steps.
// TOUCHSTONE_MUTANTS asks for another number of files. A file that kills or stops the program stays in the temporary
// folder.
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "support/mutate.hpp"
#include "touchstone/io/load.hpp"
#include "touchstone/sim/simulator.hpp"
#include "urdf_support.hpp"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// Of processor time, so that a busy machine is no failure; then the signal ends the program.
const int kSecondsPerFile = test::whole_family() ? 30 : 300;

void watch_file(int seconds) {
  const itimerval limit{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

struct Seed {
  std::string name, text;
};

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<Seed> seeds() {
  std::vector<Seed> found;
  const fs::path source(TOUCHSTONE_SOURCE_DIR);
  for (const char* folder : {"tests/fuzz/corpus/mjcf", "tests/fuzz/corpus/urdf", "models"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source / folder)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".xml" && extension != ".urdf") continue;
      std::string text = content_of(entry.path());
      // The first byte of a seed for the fuzzer chooses options.
      if (const std::size_t begin = text.find('<'); extension == ".urdf" && begin != std::string::npos) {
        text.erase(0, begin);
      }
      found.push_back({entry.path().filename().string(), text});
    }
  }
  std::sort(found.begin(), found.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return found;
}

struct Tally {
  int loaded = 0, refused = 0, diverged = 0;
};

void expect_place(const Error& error, const std::string& text) {
  EXPECT_FALSE(error.where().file.empty()) << error.what() << "\n" << text;
  EXPECT_TRUE(error.where().line > 0 || !error.where().element.empty()) << error.what() << "\n" << text;
  EXPECT_LT(std::string(error.what()).size(), 5000u);
}

void run_one(const fs::path& file, const std::string& text, const LoadOptions& options, Tally& tally) {
  try {
    const ModelPtr model = load_model(file, options);
    ++tally.loaded;
    Simulator sim(model);
    for (int step = 0; step < 10; ++step) {
      if (sim.step().status == StepStatus::kDiverged) {
        ++tally.diverged;
        break;
      }
    }
  } catch (const Error& error) {
    ++tally.refused;
    expect_place(error, text);
  }
}

TEST(MutatedFiles, LoadAndStepOrEndWithAnErrorThatSaysWhere) {
  const std::vector<Seed> all = seeds();
  ASSERT_GT(all.size(), 15u);
  const char* wanted = std::getenv("TOUCHSTONE_MUTANTS");
  const int count = wanted != nullptr ? std::atoi(wanted) : test::whole_family() ? 1200 : 200;
  const urdf_testing::TemporaryFolder folder;
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const Seed& seed = all[static_cast<std::size_t>(i) % all.size()];
    const std::string text = test::mutate(seed.text, static_cast<std::uint64_t>(i) + 1);
    const fs::path file = folder.write(seed.name, text);
    LoadOptions options;
    options.max_elements = 1'000;
    options.allow_ignored = i % 2 == 0;
    options.floating_base = i % 3 == 0;
    options.merge_fixed = i % 5 != 0;
    watch_file(kSecondsPerFile);
    run_one(file, text, options, tally);
    watch_file(0);
    if (testing::Test::HasFailure() && wanted == nullptr) break;
  }
  RecordProperty("loaded", tally.loaded);
  RecordProperty("refused", tally.refused);
  RecordProperty("diverged", tally.diverged);
  EXPECT_GT(tally.loaded, count / 10);
  EXPECT_GT(tally.refused, count / 10);
}

}  // namespace
}  // namespace touchstone
