#include "touchstone/viewer/recording_replay.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "touchstone/base/error.hpp"
#include "touchstone/base/index.hpp"
#include "touchstone/dynamics/kinematics.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

Vec3 row3(const std::vector<double>& column, std::size_t row) {
  return {column[3 * row], column[3 * row + 1], column[3 * row + 2]};
}

// The recorded contacts of a row in the simulator's form, so that modes and islands are found as they are live.
struct RowContacts {
  std::vector<Contact> contacts;
  std::vector<ContactForce> forces;
};

void read_contacts(const Recording& recording, std::size_t row, RowContacts& out) {
  const ContactTable& table = recording.contacts();
  const Model& model = *recording.model();
  out.contacts.clear();
  out.forces.clear();
  for (std::size_t c = recording.contact_start(row); c < recording.contact_start(row + 1); ++c) {
    Contact contact;
    contact.shape_a = table.shape_a[c];
    contact.shape_b = table.shape_b[c];
    contact.body_a = model.shapes[at(contact.shape_a)].body;
    contact.body_b = model.shapes[at(contact.shape_b)].body;
    contact.position = row3(table.position, c);
    contact.frame.c2 = row3(table.normal, c);
    contact.distance = table.distance[c];
    contact.material.dimension = table.friction[c] > 0.0 ? 3 : 1;
    contact.material.friction[0] = contact.material.friction[1] = table.friction[c];
    out.contacts.push_back(contact);
    ContactForce force;
    force.force = row3(table.force, c);
    force.torque = row3(table.torque, c);
    const double normal = dot(force.force, contact.frame.c2);
    const Vec3 tangential = force.force - normal * contact.frame.c2;
    force.local_force = Vec3(std::sqrt(dot(tangential, tangential)), 0.0, normal);
    out.forces.push_back(force);
  }
  for (std::size_t i = 0; i < out.forces.size(); ++i) out.forces[i].contact = &out.contacts[i];
}

// The first row is the start, which no step led to.
std::vector<CertificateItem> certificate_of(const Recording& recording) {
  const StepSpan span = recording.every() == 1         ? StepSpan::kAllSteps
                        : recording.covers_all_steps() ? StepSpan::kGroups
                                                       : StepSpan::kSomeSteps;
  RunCertificate certificate(recording.options(), span);
  for (std::size_t row = 1; row < recording.rows(); ++row) certificate.add(recording.report(row));
  return certificate.items();
}

}  // namespace

Replay replay_of(const Recording& recording, double frame_rate) {
  if (recording.rows() == 0)
    throw InputError({.where = {}, .message = "the recording is empty", .remedy = "record again"});
  const Model& model = *recording.model();
  Replay replay;
  replay.model = recording.model();
  replay.title = recording.scene().empty() ? model.name : recording.scene();
  replay.subtitle = fmt::format("recording: {} moments, steps of {:.3g} ms, solver {}{}", recording.rows(),
                                1e3 * recording.time_step(), recording.options().solver,
                                recording.complete() ? "" : "; it ends early: its writer was stopped");
  replay.channels = step_channels();
  replay.certificate = certificate_of(recording);
  Data data(model);
  RowContacts contacts;
  Extremes extremes;
  std::vector<Mark> marks;
  const double start = recording.steps().time.front();
  for (std::size_t row = 0; row < recording.rows(); ++row) {
    constexpr double kTimeTolerance = 1e-9;  // s
    const double time = recording.steps().time[row];
    const StepReport report = recording.report(row);
    add_marks(report, marks);
    const StepValues values =
        step_values(report, recording.steps().kinetic_energy[row], recording.steps().potential_energy[row]);
    extremes.add(values);
    const bool due = time - start >= static_cast<double>(replay.frames.size()) / frame_rate - kTimeTolerance;
    if (!due && row + 1 < recording.rows()) continue;
    Frame& frame = replay.frames.emplace_back();
    frame.time = time;
    const State state = recording.state(row);
    forward_kinematics(model, model.defaults, state, data);
    forward_velocity(model, state.v, data);
    for (const Pose& X : data.X_WB) frame.poses.push_back(X.transform());
    read_contacts(recording, row, contacts);
    fill_contacts(model, data, contacts.forces, frame.contacts);
    for (int b = 1; b < model.nbody; ++b) {
      if (recording.is_asleep(row, b)) frame.asleep.push_back(b);
    }
    frame.values.assign(values.begin(), values.end());
    frame.low = extremes.low();
    frame.high = extremes.high();
    extremes.clear();
    frame.marks.swap(marks);
    marks.clear();
  }
  return replay;
}

}  // namespace touchstone
