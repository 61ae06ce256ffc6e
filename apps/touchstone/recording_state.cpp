#include "recording_state.hpp"

#include <fmt/format.h>

#include "console.hpp"
#include "touchstone/base/printable.hpp"

namespace touchstone::cli {

void report_state(const Recording& recording, const std::string& file) {
  if (!recording.damage().empty()) {
    print_note(fmt::format("touchstone: {}: the recording is damaged: {}; the {} moments before that are used\n",
                           printable(file), recording.damage(), recording.rows()));
  } else if (!recording.complete()) {
    print("the recording ends early: its writer was stopped\n");
  }
}

}  // namespace touchstone::cli
