// The kinematic trees that an element of a model acts on. Where there are several, the element joins them: what one
// does, the others feel.
#pragma once

#include <vector>

#include "touchstone/math/union_find.hpp"
#include "touchstone/model/model.hpp"

namespace touchstone {

// Without what does not move, in no order, repeats included.
std::vector<int> trees_of(const Model& model, const Equality& equality);
std::vector<int> trees_of(const Model& model, const LoopJoint& joint);
std::vector<int> trees_of(const Model& model, const Tendon& tendon);
std::vector<int> trees_of(const Model& model, const Actuator& actuator);

// Joins the trees that equalities and loop joints of the model hold together: for islands where no step is at hand, as
// in a recording.
void join_loops(const Model& model, UnionFind& trees);
// Those that tendons and actuators pull at together too.
void join_elements(const Model& model, UnionFind& trees);

}  // namespace touchstone
