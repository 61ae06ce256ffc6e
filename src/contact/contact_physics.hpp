// What a contact is made of, in physical units: the data of the compliant laws (contact/laws/), one for each Coulomb
// block that has them. Everything is that of the start of the step.
#pragma once

#include <cstdint>

namespace touchstone {

// Force over deformation x > 0.
enum class Elasticity : std::uint8_t {
  kLinear,  // k x
  kHertz,   // k x^(3/2)
};

struct ContactPhysics {
  double gap = 0.0;           // phi_0, m; negative where the bodies overlap
  double speed = 0.0;         // v_n, m/s; positive where they separate
  double stiffness = 0.0;     // k, N/m (Hertz: N/m^1.5); 0: as stiff as the step resolves (near-rigid)
  double dissipation = 0.0;   // d of Hunt and Crossley, s/m; `lagged` and `similar`
  double relaxation = 0.0;    // tau of a linear damper, s: the force is that of the deformation tau later
  double stiction = 1e-4;     // v_s, m/s: friction holds up to about this slip
  double sigma = 1e-3;        // of the friction's regularisation, (26); 0: v_s alone
  double near_rigid = 1.0;    // beta: period of a near-rigid contact in steps
  Elasticity elasticity = Elasticity::kLinear;
};

// Which compliant model is meant.
enum class CompliantModel : std::uint8_t { kSap, kLagged, kSimilar };

}  // namespace touchstone
