// One step of a machine in reduced and in maximal coordinates, all its rows held, solved densely.
#pragma once

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"

namespace touchstone::test {

struct MaximalFigures {
  double acceleration = 0.0;  // worst difference of the accelerations of bodies, of the largest one in a state
  double reaction = 0.0;      // the same of the wrenches that joints hold
};

// Adds a state to the figures. `reactions`: compares them, too; rows must be independent, for nothing tells the
// reactions of others. Limits and dry friction must be off: all rows are held.
void compare_coordinates(const ModelPtr& reduced, const ModelPtr& maximal, const State& state, bool reactions,
                         MaximalFigures& worst);

}  // namespace touchstone::test
