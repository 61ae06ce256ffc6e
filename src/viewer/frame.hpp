// What the viewer shows of one moment: poses, contacts and figures. A simulator fills these; a replay is a list of
// them, a live view a stream. Everything but the poses is optional: what is absent is not shown.
#pragma once

#include <string>
#include <vector>

#include "touchstone/math/types.hpp"

namespace touchstone {

enum class ContactMode { kOpen, kStick, kSlip };

// One contact point, seen from body A: the normal points from A to B, the force acts on B.
struct FrameContact {
  Vector3 position = Vector3::Zero();  // m, world
  Vector3 normal = Vector3::UnitZ();   // world, unit length
  Vector3 force = Vector3::Zero();     // N, world
  double distance = 0.0;               // m, negative when the shapes overlap
  double friction = 0.0;               // coefficient of the cone; 0 = frictionless
  ContactMode mode = ContactMode::kOpen;
  int island = -1;  // -1: not known
  int body_a = 0, body_b = 0;
};

// One line of a certificate: a measured error and what it may be.
struct CertificateItem {
  std::string name;
  std::string meaning;  // how the value is measured
  double value = 0.0;
  double limit = 0.0;
  std::string unit;  // empty: a ratio

  bool passed() const { return value <= limit; }  // false for NaN
};

// A figure that is recorded with every frame and drawn over time. Channels with the same chart share its axes.
struct Channel {
  std::string chart;  // such as "Energy"
  std::string name;   // such as "kinetic"
  std::string unit;   // such as "J"; empty: a plain number
  bool logarithmic = false;
};

// Something that happened between two frames, drawn on the time line.
enum class MarkKind { kEvent, kImpact, kFallback };  // a change of contact; velocities that jumped; another rule's step

struct Mark {
  double time = 0.0;  // s
  MarkKind kind = MarkKind::kEvent;
};

struct Frame {
  double time = 0.0;                         // s
  std::vector<Transform> poses;              // nbody: X_WB
  std::vector<FrameContact> contacts;        // may be empty
  std::vector<int> asleep;                   // bodies that sleep, ascending
  std::vector<double> values;                // one for each channel of the source; NaN where there is none
  std::vector<double> low, high;             // their extremes since the frame before; empty: not known
  std::vector<Mark> marks;                   // since the frame before
  std::vector<CertificateItem> certificate;  // of this moment (live); may be empty
};

}  // namespace touchstone
