// The messages between the live viewer's page and its server; docs/viewer.md describes them. Text is JSON; frames are
// binary, because they come sixty times a second.
#pragma once

#include <string>
#include <string_view>

#include "touchstone/viewer/live_source.hpp"

namespace touchstone::viewer {

enum class CommandType {
  kPlay,
  kPause,
  kReset,
  kStep,      // count
  kSpeed,     // value
  kSolver,    // name
  kTimeStep,  // value
  kFriction,  // value
  kControl,   // index, value
  kDrag,      // drag
  kRelease,
};

struct Command {
  CommandType type = CommandType::kPlay;
  int count = 1;
  int index = 0;
  double value = 0.0;
  std::string name;
  LiveDrag drag;
};

// Reads a message of a client. Throws InputError that says what is wrong with it.
Command parse_command(std::string_view text);

// Throws InputError if the source does not offer the command, or not with these values.
void check_command(const Command& command, const LiveSource& source);

// How the simulation goes, apart from the source's own choices.
struct Pace {
  bool playing = true;
  double speed = 1.0;  // simulated seconds for a second
};
constexpr double kSlowest = 0.001, kFastest = 1000.0;  // of Pace::speed
constexpr int kMostSteps = 10'000;                     // of one step command

std::string hello_message(const LiveSource& source, const Pace& pace);
std::string state_message(const LiveSource& source, const Pace& pace);
std::string error_message(std::string_view message);

// Length of the header (32 bits), the header (JSON, padded with spaces to a multiple of four bytes), then 32-bit
// floats: seven for each pose (position, then w, x, y, z), fifteen for each contact.
std::string frame_message(const Frame& frame);

// The document of a page that connects to the server it came from.
std::string live_document();

}  // namespace touchstone::viewer
