// A step as it was, for whoever wants to differentiate or explain it afterwards: what it started from, its rows, its
// factor, its impulses, and which case of its law each block ended in. Made when asked for; a step that nobody asks
// about pays nothing.
//
//   sim.step();
//   const StepRecord record = record_step(sim.context());
#pragma once

#include <cstdint>
#include <vector>

#include "touchstone/sim/step_context.hpp"

namespace touchstone {

// Which case of its law a block is in. Laws are smooth where the case does not change.
enum class BlockMode : std::uint8_t {
  kHeld,      // equality
  kOpen,      // contact or limit without impulse
  kClosed,    // limit or contact without friction, with impulse
  kSticking,  // within the friction cone
  kSliding,   // on its surface
  kInside,    // box: between its bounds
  kAtLower,
  kAtUpper,
};

const char* to_string(BlockMode mode);

// `u` is the velocity of the block, for what impulses alone do not tell: a contact on the surface of its cone slides if
// it moves against its friction. `share`: how near a bound counts as on it, relative to the impulse.
BlockMode block_mode(const Blocks& blocks, int block, const double* lambda, const double* u, double share = 1e-9);

struct StepRecord {
  double h = 0.0;
  State before, after;
  Input input;
  std::vector<Contact> contacts;  // with the features that each depends on (Contact::active)
  Constraints constraints;        // rows J, Y, gaps, bias, compliance; index of a contact: in `contacts`
  TreeFactor factor;              // of A, at the state where forces were evaluated
  VectorX v_free, v_next;         // nv; hard constraints: v_next = v_free + A^-1 J' lambda
  VectorX lambda, u;              // nrow: impulses, and what the solver saw, J (v_free + A^-1 J' lambda) + b + R lambda
  std::vector<BlockMode> modes;   // nblock
};

// After the step (stage::integrate).
StepRecord record_step(const StepContext& step);

}  // namespace touchstone
