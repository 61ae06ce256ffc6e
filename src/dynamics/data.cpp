#include "touchstone/dynamics/data.hpp"

#include <limits>

namespace touchstone {

namespace {

// Debug builds fill the workspace with NaN, so that a stage that reads what no stage wrote is seen at once.
VectorX scratch_vector(int size) {
#ifdef NDEBUG
  return VectorX::Zero(size);
#else
  return VectorX::Constant(size, std::numeric_limits<double>::quiet_NaN());
#endif
}

int padded(std::size_t count) { return static_cast<int>((count + 3) / 4 * 4); }

}  // namespace

Data::Data(const Model& model)
    : angle(VectorX::Zero(padded(model.angle_q.size()))),
      angle_sine(angle),
      angle_cosine(angle),
      X_WB(model.nbody),
      reference_point(model.ntree),
      body_com(model.nbody),
      S(model.nv),
      velocity(model.nbody),
      acceleration(model.nbody),
      force(model.nbody),
      composite_inertia(model.nbody),
      M(VectorX::Zero(model.row_start.back())),
      L(VectorX::Zero(model.row_start.back())),
      D_inverse(scratch_vector(model.nv)),
      articulated(model.nbody),
      U(model.nv),
      bias(scratch_vector(model.nv)),
      passive(scratch_vector(model.nv)),
      actuation(scratch_vector(model.nv)),
      actuator_force(scratch_vector(model.nu)),
      actuator_length(scratch_vector(model.nu)),
      actuator_velocity(scratch_vector(model.nu)),
      activation_rate(scratch_vector(model.na)),
      actuator_moment(MatrixX::Zero(model.nv, model.nu)),
      tendon_length(scratch_vector(model.ntendon)),
      tendon_velocity(scratch_vector(model.ntendon)),
      smooth_force(scratch_vector(model.nv)),
      v_free(scratch_vector(model.nv)),
      scratch(scratch_vector(model.nv)) {}

}  // namespace touchstone
