// Mutated scene files, problems and recordings, and words that belong nowhere: the program refuses or works, and says
// so in one safe line. It never crashes, hangs or reports a mistake of its own. A bounded family with fixed seeds.
#include <random>

#include "command_line.hpp"

namespace {

constexpr int kTrials = 25;  // of each kind; a program is started for each

class HostileInputs : public CommandLine {
 protected:
  // Bytes changed, doubled, cut out and put in.
  static std::string mutated(std::string text, std::mt19937& random) {
    const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    static const std::vector<std::string> kPieces{
        "\x1b[2J", "\xff\xfe", "nan", "1e999", "-1", "[[[[", "&a *a", "{", std::string(1, '\0'), "99999999999999999999",
        ": - ? |"};
    for (std::size_t k = 0; k <= pick(6) && !text.empty(); ++k) {
      const std::size_t at = pick(text.size());
      switch (pick(5)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.replace(at, std::min<std::size_t>(8, text.size() - at), std::string(8, pick(2) == 0 ? '\xff' : '\0'));
          break;
        case 2:
          text.erase(at, 1 + pick(100));
          break;
        case 3:
          text.insert(at, text.substr(at, 1 + pick(100)));
          break;
        default:
          text.insert(at, kPieces[pick(kPieces.size())]);
      }
    }
    return text;
  }

  void expect_sane(const std::string& arguments, unsigned seed) const {
    const Outcome outcome = run(arguments, "timeout 60");
    EXPECT_TRUE(outcome.exit_code >= 0 && outcome.exit_code <= 2)
        << arguments << ", seed " << seed << ": exit code " << outcome.exit_code << "\n"
        << outcome.error;
    for (const std::string& text : {outcome.out, outcome.error}) {
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << seed;
      EXPECT_THAT(text, Not(HasSubstr("HDF5-DIAG"))) << seed;
    }
    EXPECT_TRUE(outcome.exit_code != 2 || outcome.error.starts_with("touchstone: ")) << seed << outcome.error;
  }
};

TEST_F(HostileInputs, MutatedSceneFiles) {
  const std::string scene =
      "description: a test\nduration: 0.01\nmodels:\n  - {model: pendulum, position: [0, 0, 1]}\n"
      "  - {model: 'stack:2', position: [2, 0, 0]}\noptions: {solver: auto, time_step: 0.002}\n";
  for (unsigned seed = 0; seed < kTrials; ++seed) {
    std::mt19937 random(seed);
    write("scene.yaml", mutated(scene, random));
    expect_sane("run scene.yaml --json --time 0.004", seed);
  }
}

TEST_F(HostileInputs, MutatedRecordings) {
  ASSERT_EQ(run("run stack:3 -q --time 0.1 --record run.h5").exit_code, 0);
  const std::string bytes = read_file(folder_ / "run.h5");
  for (unsigned seed = 0; seed < kTrials; ++seed) {
    std::mt19937 random(1000 + seed);
    write("mutant.h5", mutated(bytes, random));
    expect_sane(seed % 2 == 0 ? "export mutant.h5 --csv tables" : "view mutant.h5 --html /dev/null", seed);
  }
}

TEST_F(HostileInputs, WordsThatBelongNowhere) {
  ASSERT_EQ(run("run pendulum -q --time 0.01 --record run.h5").exit_code, 0);
  ASSERT_EQ(std::system(("mkfifo '" + (folder_ / "pipe").string() + "'").c_str()), 0);
  fs::create_symlink("loop", folder_ / "loop");
  fs::create_symlink("nothing", folder_ / "dangling");
  const std::vector<std::string> words{"pendulum",
                                       "run.h5",
                                       "--html",
                                       "--json",
                                       "--csv",
                                       "--record",
                                       "--every",
                                       "-1",
                                       "99999999999",
                                       "nan",
                                       "/dev/null",
                                       "/dev/full",
                                       "/dev/zero",
                                       "/dev/stdout",
                                       ".",
                                       "/",
                                       "''",
                                       "\"$(printf 'a\\033[2J')\"",
                                       "\"$(printf '\\377\\376')\"",
                                       "no/where",
                                       "loop",
                                       "dangling",
                                       "--option",
                                       "threads=100000000",
                                       "--solver",
                                       "auto",
                                       "--search-path",
                                       "--",
                                       "-v",
                                       "pile:99999999",
                                       "stack:nan",
                                       "--keyframe",
                                       "--ground",
                                       "pipe/x"};
  const std::vector<std::string> commands{"run", "info", "compare", "export", "solve"};
  for (unsigned seed = 0; seed < kTrials; ++seed) {
    std::mt19937 random(2000 + seed);
    std::string arguments = commands[random() % commands.size()];
    for (unsigned k = 0; k <= random() % 5; ++k) arguments += " " + words[random() % words.size()];
    if (arguments.starts_with("run") || arguments.starts_with("compare")) arguments += " --time 0.004";
    expect_sane(arguments, seed);
    EXPECT_TRUE(fs::is_character_file("/dev/null") && fs::is_symlink(folder_ / "loop"));
  }
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_NE(entry.path().extension(), ".tmp");
}

}  // namespace
