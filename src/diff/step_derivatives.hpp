// Derivatives of a whole step: how the state after it changes with the state before it, the controls and parameters.
//
//   sim.step();
//   StepDerivatives d(sim.model());
//   d.compute(sim);                     // d.A, d.B, d.C
//
//     x = [q, v, activation],   dx' = A dx + B du + C dtheta     q in the tangent space (model/configuration.hpp), at
//                                                                both ends; theta: step_parameters.hpp
//
// Everything between is differentiated analytically: dynamics, springs, dampers, servos, the impulses of all
// constraints where each block stays in its mode (contact_derivatives.hpp), the motion of contact points and normals,
// the integration on the manifold and the position pass. What is held fixed is listed in docs/derivatives.md and
// counted in `held`. A warm call allocates nothing, but for steps of the integrator `event`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "touchstone/diff/contact_motion.hpp"
#include "touchstone/diff/implicit_balance.hpp"
#include "touchstone/diff/loop_motion.hpp"
#include "touchstone/diff/pair_motion.hpp"
#include "touchstone/diff/step_parameters.hpp"
#include "touchstone/diff/transmission_rates.hpp"
#include "touchstone/diff/variational_derivatives.hpp"
#include "touchstone/dynamics/variational.hpp"
#include "touchstone/sim/step_context.hpp"

namespace touchstone {

class Simulator;  // sim/simulator.hpp
class Survey;     // sim/events/survey.hpp

class StepDerivatives {
 public:
  // Throws Error for parameters that the model does not have.
  explicit StepDerivatives(const Model& model, StepParameters theta = {});
  StepDerivatives(const StepDerivatives&) = delete;
  StepDerivatives& operator=(const StepDerivatives&) = delete;

  // After a step (sim.step(), or stage::account), before anything else is done to the simulator.
  // Hard constraints with a solver of the NCP, CCP, LCP or of RaiSim, compliant laws (sap, lagged, similar), or
  // softened constraints. Throws Error for what an integrator has no derivatives of, before the first step, and for a
  // step of another model than ours. What sleeps stays where it is, at rest.
  void compute(const StepContext& step);
  // Only what vjp and jvp need, without A, B and C: much less for one gradient.
  void linearise(const StepContext& step);
  // The same of the last step of a simulator, which may be one of several parts (substeps, or those of an accuracy,
  // whose sizes count as constants): that is made once more, and A, B, C are chained through it (step_chain.cpp), for
  // products too.
  void compute(Simulator& sim);
  void linearise(Simulator& sim);

  // How points and normals of contacts are differentiated where shapes are nearest at one point: exactly, or smoothed
  // (collision/derivatives/collision_derivatives.hpp); of two shapes, or of all others.
  void set_collision(const CollisionDerivativeOptions& options, int shape_a = -1, int shape_b = -1) {
    contact_motion_.set_options(options, shape_a, shape_b);
  }

  // Smoothed derivatives of contacts and other constraints with this width, m/s (smoothed_contact.hpp); 0: exact ones.
  // For solvers of the NCP. The position pass and all but impulses stay exact, at the step as it was.
  void set_smoothing(double width) { smoothing_ = width; }

  int nx() const { return nx_; }
  int nu() const { return model_.nu; }
  int ntheta() const { return ntheta_; }
  MatrixX A;  // nx x nx
  MatrixX B;  // nx x nu
  MatrixX C;  // nx x ntheta

  // What was taken to be constant although it is not: see docs/derivatives.md.
  struct Held {
    int contacts = 0;  // contacts whose point and normal were taken to move with the mean of both bodies, or at an edge
    int actuators = 0;       // actuators that share a limit, or motors of loop joints that the limit of a joint cuts
    bool pass = false;       // the position pass: where it moved something as far as it may, and closed loops
    bool smoothing = false;  // the relaxed problem was not solved: derivatives are those of the last point on its way
  };
  const Held& held() const { return held_; }
  // Of contact-implicit: the first of its problems, at the start of the step.
  const ContactDerivatives& contact() const;
  // The position pass, if it moved the configuration.
  bool has_pass() const { return has_pass_; }
  const ContactDerivatives& pass_contact() const { return pass_.contact(); }

  // Reverse mode, after compute or linearise: gradients by the state before the step, the controls and theta of a
  // number whose gradient by the state after it is given (nx).
  void vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar, VectorRef theta_bar);
  void vjp(const ConstVectorRef& x_next_bar, VectorRef x_bar, VectorRef u_bar);
  // Forward mode: dx' of dx, du and dtheta.
  void jvp(const ConstVectorRef& dx, const ConstVectorRef& du, const ConstVectorRef& dtheta, VectorRef dx_next);

 private:
  void compute_part(const StepContext& step);
  void compute_events(const StepContext& step);
  void linearise_part(const StepContext& step);
  void close(const StepContext& step, const ContactLaw& law);
  void begin(const StepContext& step);
  void begin_forces(const StepContext& step);
  void add_impulse_wrenches(const StepContext& step);
  // step_midpoint.cpp
  void set_here(const StepContext& step);
  static bool holds_loop(const StepContext& step, const Constraint& constraint);  // against the loops' velocity
  void settle_bias(const StepContext& step);
  void add_old_velocity(const StepContext& step);
  const std::vector<Motion>& start_V_S() const { return is_settled_ || is_variational_ ? old_V_S_ : dynamics_.V_S; }
  void take_matrix_to_start(RowMatrixRef columns) const;
  void take_columns_to_start();
  void take_to_start(VectorX& columns_bar) const;
  void take_from_start(VectorX& columns) const;
  void add_spin(const StepContext& step);
  void add_external(const StepContext& step);
  void add_passive(const StepContext& step);
  // step_variational.cpp
  void require_variational(const StepContext& step) const;
  void solve_variational(const StepContext& step);
  int compensating_joint(const StepContext& step) const;
  void add_compensation(const StepContext& step);
  void linearise_forces(const StepContext& step);
  void linearise_variational(const StepContext& step);
  void add_force_parameters(const StepContext& step);
  void set_momentum_rates(const StepContext& step);
  void begin_variational(const StepContext& step);
  void take_rows_to_start(const StepContext& step);
  void finish_variational(const StepContext& step);
  // step_knots.cpp
  void compute_knots(const StepContext& step);
  void move_between_knots(const StepContext& step);
  void stand_at(const StepContext& step, const Survey& knot);
  void linearise_first_knot(const StepContext& step, const ContactLaw& law);
  void linearise_second_knot(const StepContext& step, const ContactLaw& law);
  // step_actuators.cpp
  void add_actuators(const StepContext& step);
  void add_actuator(const StepContext& step, int u);
  void add_activation(const StepContext& step, int u);
  ServoMode servo_mode(const StepContext& step, int u) const;
  bool is_damped_by_signal(const StepContext& step, int u) const;
  int servo_row(const StepContext& step, int u) const;
  // Of an actuator's force, by what its law reads; gains that are implicit count as the step has them.
  struct ForceSlopes {
    double by_length = 0.0, by_velocity = 0.0, by_signal = 0.0, gain_by_signal = 0.0;
  };
  ForceSlopes force_slopes(const StepContext& step, int u) const;
  void add_curved_moment(const StepContext& step, int u, const ForceSlopes& slopes);
  void add_servo_rates(const StepContext& step, int u, int row);
  // step_rows.cpp
  bool find_pair(const StepContext& step, const Constraint& constraint, const double* lambda, PairWrench& wrench);
  void add_wrench(const PairWrench& wrench, double scale);
  void add_rows(const StepContext& step);
  bool set_motion(const StepContext& step, const Constraint& constraint, const PairWrench& wrench);
  void row_rate(const Constraint& constraint, const std::vector<Motion>& V_S, int k, double* values) const;
  void add_block_force(const Constraint& constraint, const PairWrench& wrench, const double* impulse,
                       ImplicitBalance& balance);
  void add_pair(const StepContext& step, int block);
  void add_surface_rates(const StepContext& step, int block);
  void add_bounce(const StepContext& step, int block);
  void add_hertz_rate(const StepContext& step, int block);
  void add_error_rate(const StepContext& step, int block);
  void add_mocap_rate(const StepContext& step, int block);
  void add_rebound(const StepContext& step, int block);
  void add_approach_rate(const StepContext& step, const Constraints& c, int block, double share,
                         const ImplicitBalance& balance, ImplicitBalance::View rows, int row);
  void add_balance_rows(const StepContext& step, const Constraints& c, const double* lambda, const VectorX& moved,
                        const VectorX& seen, ImplicitBalance& balance);
  // step_loops.cpp
  void add_loop_wrench(const LoopBlock& block, double impulse, double scale);
  void add_coupling_wrench(const Constraint& constraint, double impulse, double scale);
  // Which motors: the equation of the variational rule has all but those with a row of their own.
  enum class Motors { kAll, kWithoutRow, kWithRow };
  bool is_one_of(const StepContext& step, Motors which, int u) const;
  void add_motor_wrenches(const StepContext& step, Motors which);
  void add_loop_spring(const StepContext& step, int block);
  // dJ/dt v of rows, of another state: drift(scene, values) with everything in place there.
  template <typename Drift>
  void add_drift_rates(const StepContext& step, const Drift& drift, int count, double factor, int first);
  void add_spring_drift(const StepContext& step, const LoopBlock& block, double factor, int row);
  void add_loop_drift(const StepContext& step, int block);
  void add_loop_coupling(const Constraint& constraint, int row, double lambda, const VectorX& x,
                         ImplicitBalance& balance);
  double coupling_value(const Equality& equality) const;
  void add_loop_motors(const StepContext& step, Motors which);
  void add_loop_motor(const StepContext& step, int u);
  void add_motor_rates(int u, int row);
  double motor_impulse(const StepContext& step, int u) const;
  // step_soft.cpp
  static bool is_softened(const StepContext& step, const Constraint& constraint);
  void add_soft_reference(const StepContext& step, int block);
  void add_soft_positions(const StepContext& step, int block);
  bool is_soft_weld(const Constraint& constraint) const;
  void soft_weld_axes(const Constraint& constraint, int k, Vec3* axes) const;
  void soft_weld_rate(const Constraint& constraint, const PairRate& rate, Vec3 w, int k, double* values) const;
  void add_soft_weld_force(const Constraint& constraint, Vec3 force, const double* impulse, RowMatrixRef out) const;
  double compliance_weight(const StepContext& step, int row) const;
  void add_regularised_rates(const StepContext& step, const ContactLaw& law);
  double soft_friction_rate(const StepContext& step, int block, int row) const;
  void set_damping(const StepContext& step);
  void add_damped_parameters(const StepContext& step, bool all);
  void damp_columns();
  bool has_hessians() const { return has_laws_ || is_regularised_; }
  // step_laws.cpp
  void add_law_rates(const StepContext& step, CompliantModel model);
  void add_mobility_rates(const StepContext& step, int block);
  void add_coupling_rates(const StepContext& step);
  void begin_mobility();
  void add_mobility(const StepContext& step, int block, int row, const double* weights);
  void add_row_turn(const StepContext& step, int block, double weight);
  void add_gap_rate(const StepContext& step, StabilisedKind kind, int row);
  void add_ball_limit(const Constraint& constraint, int row, double lambda, const VectorX& x, ImplicitBalance& balance);
  void add_coupling(const Constraint& constraint, int row, double lambda, const VectorX& x, ImplicitBalance& balance);
  void set_position_rates(const StepContext& step, const Constraints& c, const ImplicitBalance::ConstView& J,
                          Growing<RowMatrixX>& rates);
  // step_pass.cpp
  void linearise_pass(const StepContext& step);
  bool match_pass(const StepContext& step);
  bool set_metric(const StepContext& step);
  void set_pass_slopes(const StepContext& step);
  void add_pass_slopes(const StepContext& step);
  // step_parameters.cpp
  void add_parameters(const StepContext& step);
  void add_pass_parameters(const StepContext& step);
  void add_metric_parameters(const StepContext& step, const VectorX& x, int column, ImplicitBalance& balance);
  int add_inertia(const StepContext& step, const VectorX& v, const VectorX& a, double scale, ImplicitBalance& balance,
                  int column);
  void add_spin_inertia(const StepContext& step, int body, int column);
  int add_gains(const StepContext& step, int u, int column);
  double gain_rate(const StepContext& step, int u, int k) const;
  void add_mobility_parameters(const StepContext& step);
  // step_materials.cpp
  void require_springs(const StepContext& step) const;
  void add_materials(const StepContext& step, int column);
  void add_friction(const StepContext& step, int shape, int column);
  void add_restitution(const StepContext& step, const Constraints& c, int shape, int column, ImplicitBalance& balance);
  void add_stiffness(const StepContext& step, int shape, int column);
  void add_hard_frictions(const StepContext& step, const Constraints& c, double time, int first,
                          ImplicitBalance& balance);
  void set_friction_change(const StepContext& step, const Constraints& c, int shape);
  void set_bound_change(const Constraints& c, int dof, double time);

  void form();
  void form_pass();
  void push(VectorRef dx_next);
  // Throws Error if the step has no derivatives, or none that are known here.
  void require_usable(const StepContext& step) const;
  static void require_whole(const StepContext& step);
  static bool has_parts(const SimulatorOptions& options);
  // step_chain.cpp
  void chain(bool is_first);
  void chain_memory(const StepContext& step, bool is_first);
  void add_memory(const StepContext& step);
  void add_held(const Held& earlier);
  void find_sleeping(const StepContext& step);
  void hold_sleeping(const StepContext& step);
  void require_sizes(Eigen::Index x, Eigen::Index u, Eigen::Index theta) const;

  // How near its bound an impulse counts as on it: solvers end within their tolerance of it.
  static constexpr double kModeShare = 1e-6;

  const Model& model_;
  const StepParameters theta_;
  int nx_, ntheta_, columns_;
  State here_;                         // where the step took forces and rows
  std::span<const Contact> contacts_;  // that the rows at hand are of
  // Midpoint rules: `here` lies ahead of the start, and columns of q are of here until the end. With loops the step was
  // solved again with what its velocity says (is_settled: its bias, or its impulses), and A is no tree's.
  double ahead_ = 0.0;  // s
  bool is_settled_ = false;
  // The variational rule: its velocity without constraints, and what else moves the configuration.
  bool is_variational_ = false;
  std::optional<VariationalStep> free_step_;
  std::optional<Data> free_data_;
  std::optional<VariationalDerivatives> variational_;
  MomentumRates momentum_rates_;
  // The contact-implicit rule: what it has at its knots.
  struct Knots;
  std::shared_ptr<Knots> knots_;         // shared by nobody
  bool has_knots_ = false;               // the last step was one of it
  VectorX impulse_;                      // nv: of forces without potential
  MatrixX impulse_by_, impulse_by_end_;  // nv x columns, nv x nv
  Parameters lifted_;                    // with the weights that actuators lift
  Parameters alone_;                     // with one body that weighs anything
  VectorX loop_impulse_;                 // nv: that the equation of the variational rule knows
  MatrixX shift_, drift_;                // nv x columns: dv1, and of q' what v' does not say
  MatrixX way_by_velocity_;              // nv x nv: of q' what v' says
  VectorX end_velocity_;                 // nv: that implicit gains act on
  VectorX way_;                          // nv: of the configuration, without the pass
  std::vector<int> asleep_;              // dofs
  bool has_result_ = false;              // of a step; not after an error
  bool has_only_matrices_ = false;       // products are those of A, B and C
  MatrixX A_chain_, B_chain_, C_chain_, chain_scratch_;
  MatrixX past_[3];                                // nv x columns: velocities before that of a part, the last first
  MatrixX left_, past_change_, by_loop_velocity_;  // of the velocity after it; nv x columns, nx x nv
  // Laws of impulses that are functions of velocities: compliant ones, and that of ccp-newton. Softened models
  // (step_soft.cpp): impulses are those of velocity_, and the velocity after the step is v' = v + damped_map_
  // (velocity_
  // - v).
  bool has_laws_ = false, is_regularised_ = false, is_soft_ = false, is_damped_ = false;
  VectorX velocity_;          // nv: that rows and impulses see; v' but of softened models
  RowMatrixX damped_map_;     // nv x nv
  RowMatrixX damped_change_;  // nv x columns: of v', at fixed damped_map_ and velocity_ - v; by what A has
  VectorX damped_bar_;        // nv
  VectorX bias_velocity_;
  std::vector<Motion> old_V_S_;
  MatrixX inverse_, dense_scratch_, moves_, columns_scratch_, dv_scratch_;
  Eigen::PartialPivLU<MatrixX> dense_factor_;
  RowMatrixX tree_inverse_;
  Data data_;
  InverseDynamicsDerivatives dynamics_;
  ImplicitBalance main_, pass_;
  ImplicitBalance turned_;  // of add_row_turn: rows alone
  Held held_;
  VectorX a_;
  std::vector<Force> external_;
  std::vector<Motion> V_S_;  // of the velocity after the step, then of the displacement of the pass
  PairMotion motion_;
  PairForces pair_forces_;            // of contacts
  std::vector<PairRate> pair_rates_;  // of a contact
  ContactMotion contact_motion_;
  TransmissionRates transmission_;  // of the actuator at hand
  LawDerivatives laws_;
  InverseDynamicsDerivatives mobility_;  // of A^-1 J'
  VectorX by_q_, by_theta_, direction_, pulled_;
  VectorX change_, opposite_, law_change_;  // nrow: of friction or of bounds, minus that, and of impulses
  Eigen::MatrixX3d by_gravity_;
  VectorX gradient_, value_rate_;  // nv: of a side of a coupling
  std::optional<Data> drift_data_;
  State drift_state_;
  VectorX moved_q_;                     // nq
  Growing<RowMatrixX> rate_;            // nrow x nv: d(J v')/dq at constant v'
  Growing<RowMatrixX> position_;        // nrow x nv: of gaps and errors, by q
  Growing<RowMatrixX> coupling_rates_;  // 1 x columns
  MatrixX activation_;                  // na x columns
  MatrixX dv_, dd_;                     // nv x columns
  Growing<VectorX> lambda_;             // of the step
  Growing<VectorX> row_velocity_;       // J v'
  double h_ = 0.0;
  double smoothing_ = 0.0;
  VectorX v_next_;

  // The position pass.
  struct PassRow {
    int row = 0;              // of the step
    double slope = 0.0;       // of its bias by the gap of that row after the step
    int longest = -1;         // row of the step whose way is the longest, if that shortens all others
    double by_longest = 0.0;  // slope by the gap of that one
  };
  bool has_pass_ = false;
  std::vector<PassRow> pass_rows_;
  std::vector<int> pass_block_;  // of the step, by block of the pass
  double remaining_ = 0.0;
  VectorX displacement_, zero_;
  TreeFactor metric_;
  Parameters weightless_;
  TreeIslands pass_islands_;
  Growing<RowMatrixX> pass_more_, pass_follows_;  // rows of the pass: x columns, and by v'
  MatrixX regressor_;

  // Scratch of vjp and jvp.
  VectorX columns_bar_, v_bar_, d_bar_, way_bar_, rows_vector_, pass_vector_;
};

}  // namespace touchstone
