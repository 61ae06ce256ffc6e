// What solref asks for and a rigid constraint does not give.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "touchstone/io/mjcf_compiler.hpp"
#include "touchstone/model/impedance.hpp"

namespace touchstone::mjcf {
namespace {

// One warning for all elements that share a solref; it names the first.
class ReferenceNotes {
 public:
  void add_constraint(const Impedance& impedance, const Origin& origin) {
    if (has_mixed_signs(impedance.solref)) note(mixed_, impedance.solref, origin);
  }

  void add_equality(const Impedance& impedance, const Origin& origin) {
    add_constraint(impedance, origin);
    if (reference_spring(impedance.solref).is_underdamped()) note(swinging_, impedance.solref, origin);
  }

  std::vector<Warning> warnings() const {
    std::vector<Warning> result;
    for (const Note& note : mixed_) {
      result.push_back({note.origin, fmt::format("solref '{} {}' mixes MuJoCo's two formats; as in MuJoCo, the default "
                                                 "'0.02 1' is taken{}; give two positive or two negative numbers",
                                                 note.solref[0], note.solref[1], others(note))});
    }
    for (const Note& note : swinging_) {
      result.push_back(
          {note.origin,
           fmt::format("solref '{} {}' makes an equality that swings, with damping ratio {:.3g}{}; here "
                       "equalities are rigid, unless the simulator's option 'constraints' is 'mujoco'",
                       note.solref[0], note.solref[1], reference_spring(note.solref).damping_ratio(), others(note))});
    }
    return result;
  }

 private:
  struct Note {
    std::array<double, 2> solref;
    Origin origin;
    int count = 1;
  };

  static void note(std::vector<Note>& notes, const std::array<double, 2>& solref, const Origin& origin) {
    const auto known =
        std::find_if(notes.begin(), notes.end(), [&](const Note& other) { return other.solref == solref; });
    if (known != notes.end()) {
      ++known->count;
    } else {
      notes.push_back({solref, origin});
    }
  }

  static std::string others(const Note& note) {
    return note.count == 1 ? "" : fmt::format(" (here and {} times more)", note.count - 1);
  }

  std::vector<Note> mixed_, swinging_;
};

}  // namespace

void Compiler::warn_of_references() {
  ReferenceNotes notes;
  for (const BodySpec& body : spec_.bodies) {
    for (const GeomSpec& geom : body.geoms) notes.add_constraint(geom.element.material.impedance, geom.element.origin);
    for (const JointSpec& spec : body.joints) notes.add_constraint(spec.joint.limit_impedance, spec.joint.origin);
  }
  for (const PairSpec& spec : spec_.pairs) notes.add_constraint(spec.pair.impedance, spec.pair.origin);
  for (const TendonSpec& spec : spec_.tendons) notes.add_constraint(spec.tendon.limit_impedance, spec.tendon.origin);
  for (const EqualitySpec& spec : spec_.equalities) notes.add_equality(spec.equality.impedance, spec.equality.origin);
  for (Warning& warning : notes.warnings()) builder_.add_warning(std::move(warning));
}

}  // namespace touchstone::mjcf
