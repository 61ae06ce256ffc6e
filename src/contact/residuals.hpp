// The figures of a certificate (contact/certify.hpp says how they are found).
#pragma once

namespace touchstone {

struct Residuals {
  double natv = 0.0;                     // m/s
  double natv_relative = 0.0;            // natv / max(|g|_inf, 9.81 time_step)
  double natv_relative_to_change = 0.0;  // natv / |G lambda|_inf: where separating contacts dominate g
  int worst_block = -1;                  // the block of natv; ContactProblem::describe_block names it; -1 if none
  double primal_cone = 0.0;              // N s: largest distance of lambda_i to its set
  double dual_cone = 0.0;                // m/s: largest distance of u^_i to the dual set (of an equality: |u_i|)
  double complementarity =
      0.0;                   // J: largest |lambda_i . u^_i|; of a box: u times the distance to the bound it pushes at
  double natural_map = 0.0;  // largest natural map with unit step, as the papers report it; mixes N s and m/s
  double coulomb = 0.0;      // N s: largest |lambda_t / mu| - lambda_n of a contact
  double signorini = 0.0;    // J: largest |lambda_n u_n| of a contact
  double max_dissipation = 0.0;  // J: largest |lambda_t . u_t + lambda_n |mu u_t|| of a contact
  double model_natv = 0.0;       // m/s: natv of the model that certify() was asked for (NCP: the same as natv)
  double model_natv_relative = 0.0;
  // Of a compliant model (contact/laws/certify_law.hpp); 0 for others.
  double law_natv = 0.0;           // m/s: the natural map of the laws
  double law_natv_relative = 0.0;  // law_natv / max(|J v_free|, |J (v' - v_free)|, 9.81 time_step)
  double law_impulse = 0.0;        // N s: momentum that the law and the answer do not agree about, of one block
};

// Keeps the larger; NaN wins, so that it cannot hide.
inline void raise(double& largest, double value) {
  if (!(value <= largest)) largest = value;
}

}  // namespace touchstone
