// Recordings of simulations in HDF5: states, controls, contacts, forces, residuals, timings, and the model itself.
//
//   RecordingWriter writer("run.h5", sim, {.scene = "arch"});     // keeps the present moment
//   while (...) { sim.step(); writer.add(sim); }                  // and every N-th step
//   writer.close();
//
//   const Recording recording("run.h5");
//   recording.steps().q                                            // all configurations, row after row
//
// A file is complete up to its last chunk at every moment: the process may be killed, the disk may be full, another
// process may read while this one writes (HDF5's single-writer, multiple-readers mode). docs/recordings.md has the
// layout for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "touchstone/model/state.hpp"
#include "touchstone/sim/simulator.hpp"

namespace touchstone {

class RecordingFile;

// One row for each recorded moment. The first is the start, which no step led to: its report is empty. All others hold
// the state after a step and what that step said. If not every step has a row, status, natv, natv_relative, law_natv,
// penetration and violation are the worst of the steps since the row before, so that none goes unseen; events, impacts,
// rejected, fallbacks and newton are their sums.
struct StepTable {
  std::vector<double> time;                       // s
  std::vector<double> q, v, activation, control;  // nq, nv, na, nu a row
  std::vector<double> loop_q;                     // nloop a row: State::loop_q
  std::vector<double> mocap;                      // 7 a mocap body: x y z, w x y z
  std::vector<std::int32_t> step;                 // number of steps before this moment
  std::vector<std::int32_t> status;               // StepStatus
  std::vector<std::int32_t> contacts;             // rows of ContactTable that belong to this moment
  std::vector<std::int32_t> constraints, islands, iterations;
  std::vector<std::int32_t> events, impacts;        // of Integrator::kEvent (StepReport::events)
  std::vector<std::int32_t> rejected;               // steps between events, and parts of a step, that were tried again
  std::vector<std::int32_t> fallbacks;              // parts made by another rule than the one chosen
  std::vector<std::int32_t> newton;                 // iterations of the equation of motion (StepReport::newton)
  std::vector<double> last_event;                   // s: when; 0 before the first
  std::vector<std::int32_t> asleep;                 // ntree a row: 1 for a tree that sleeps; empty if nothing could
  std::vector<double> natv, natv_relative;          // certificate: m/s, -
  std::vector<double> law_natv, law_natv_relative;  // of the law of compliant solvers: m/s, -; 0 with others
  std::vector<double> penetration, violation;       // m, m or rad
  std::vector<double> kinetic_energy, potential_energy;  // J
  std::vector<double> times;  // 6 a row, s: dynamics, collision, assembly, solve, integrate, certify

  std::size_t rows() const { return time.size(); }
};

// One row for each contact point with a force, in the order of the moments.
struct ContactTable {
  std::vector<std::int32_t> shape_a, shape_b;
  std::vector<double> position, normal;  // m, world; -, from A to B: 3 a row
  std::vector<double> force, torque;     // N, N m, world, on B: 3 a row
  std::vector<double> distance;          // m
  std::vector<double> friction;          // sliding coefficient

  std::size_t rows() const { return distance.size(); }
};

struct RecordingOptions {
  int every = 1;        // steps between rows
  std::string scene;    // what was run, for people
  int chunk = 0;        // rows that are written at once; 0: by their size
  int compression = 2;  // deflate, 0 to 9
};

class RecordingWriter {
 public:
  // Creates the file and writes the model with the simulator's present parameters. The file is locked against other
  // writers until close() or the end of the process. Throws InputError if it cannot be written: no such folder, not a
  // regular file, another process or writer is writing it.
  RecordingWriter(const std::filesystem::path& file, Simulator& sim, const RecordingOptions& options = {});
  RecordingWriter(RecordingWriter&&) noexcept;
  RecordingWriter& operator=(RecordingWriter&&) noexcept;
  ~RecordingWriter();  // closes; errors are swallowed

  // After a step: keeps it if its turn has come, or if it diverged. Throws Error when the file cannot be written any
  // more (disk full); what was written before stays readable.
  void add(Simulator& sim);
  // Writes what is left. Throws as add does.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Recording {
 public:
  // Reads the file, or as much of it as is whole: see damage(). Throws InputError if it is no recording, or if there is
  // not enough memory for what it holds.
  explicit Recording(const std::filesystem::path& file);

  const ModelPtr& model() const { return model_; }
  const std::string& scene() const { return scene_; }
  const std::string& version() const { return version_; }  // of the program that wrote it
  const SimulatorOptions& options() const { return options_; }
  double time_step() const { return time_step_; }
  int every() const { return every_; }
  // The certificate's figures of a row are the worst of all steps since the row before; false: of that step alone, in
  // files of old writers that left steps out.
  bool covers_all_steps() const { return covers_all_steps_; }
  // False when the writer did not come to close() (killed, or no room), and when the file is damaged.
  bool complete() const { return complete_; }
  // What is wrong with the file, and where; empty if nothing is. The rows before that are whole, the others left out.
  const std::string& damage() const { return damage_; }

  const StepTable& steps() const { return steps_; }
  const ContactTable& contacts() const { return contacts_; }
  std::size_t rows() const { return steps_.rows(); }
  // First contact of a row; contact_start(rows()) is their number.
  std::size_t contact_start(std::size_t row) const { return contact_start_[row]; }
  State state(std::size_t row) const;
  VectorX control(std::size_t row) const;
  StepReport report(std::size_t row) const;  // what is recorded of it
  bool is_asleep(std::size_t row, int body) const;

 private:
  void read_meta(const RecordingFile& file);

  ModelPtr model_;
  std::string scene_, version_;
  SimulatorOptions options_;
  double time_step_ = 0.0;
  int every_ = 1;
  bool covers_all_steps_ = false;
  bool complete_ = false;
  std::string damage_;
  StepTable steps_;
  ContactTable contacts_;
  std::vector<std::size_t> contact_start_;
};

// steps.csv and contacts.csv in a folder, one line a row, names in the first. The folder is made if it is not there,
// but not the one it is in. Throws InputError if they cannot be written.
void write_csv(const Recording& recording, const std::filesystem::path& folder);

}  // namespace touchstone
