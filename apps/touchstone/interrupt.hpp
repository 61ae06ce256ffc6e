// Ctrl-C (SIGINT) and SIGTERM as a wish to end early: a long job notices it between two steps and still writes what it
// has done. The second one ends the program at once, as it would without this.
#pragma once

#include <csignal>

namespace touchstone::cli {

class InterruptWatch {
 public:
  InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch();  // signals mean again what they meant before

  bool requested() const;

 private:
  using Action = struct sigaction;
  Action before_int_{}, before_term_{};
};

}  // namespace touchstone::cli
