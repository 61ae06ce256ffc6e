// A recorded motion for the viewer: a model, frames, figures over time and a certificate.
#pragma once

#include <string>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/model/state.hpp"
#include "touchstone/viewer/frame.hpp"

namespace touchstone {

struct Replay {
  std::string title;
  std::string subtitle;  // one line: what was simulated, and how
  ModelPtr model;
  std::vector<Channel> channels;
  std::vector<Frame> frames;                 // in order of time; poses must be those of the model
  std::vector<CertificateItem> certificate;  // of the whole run; may be empty
};

class LiveSource;

// Runs the source from where it stands and keeps `frame_rate` frames a second of its time, at most one a step. Ends
// early when its time stops.
Replay record(LiveSource& source, double duration, double frame_rate = 60.0);

// Poses of all bodies at a state, in the layout of Frame::poses. For single pictures; it allocates.
std::vector<Transform> body_poses(const Model& model, const State& state);

// The document that the page reads (docs/viewer.md): positions in steps of 10 micrometres, quaternions of
// 16-bit numbers. Throws Error when a frame does not fit the model or time runs backwards.
std::string replay_json(const Replay& replay);

// What the page must know of a model: bodies, shapes, meshes, joints, controls; the object "scene" of the document.
// Bodies stand where the state puts them.
std::string scene_json(const Model& model, const State& state);

}  // namespace touchstone
