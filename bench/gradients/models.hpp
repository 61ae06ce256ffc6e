// Models of the benchmark that are made here, as MJCF, so that other engines can read them too.
#pragma once

#include <string>

// Seven hinges in a chain, without contact.
std::string arm_xml();

// A humanoid of 36 dofs with the layout of Atlas: a floating pelvis, three joints in the back, one in the neck, seven
// in each arm and six in each leg, position servos on all of them, feet of boxes on a plane. 1.7 m, about 70 kg.
std::string humanoid36_xml();
