#include "interrupt.hpp"

#include <atomic>

namespace touchstone::cli {
namespace {

using Action = struct sigaction;

std::atomic<bool> g_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use it");

extern "C" void request_end(int /*signal*/) {
  g_requested = true;
  Action plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGINT, &plain, nullptr);
  sigaction(SIGTERM, &plain, nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  g_requested = false;
  Action action{};
  action.sa_handler = request_end;
  action.sa_flags = SA_RESTART;  // files are written on
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

bool InterruptWatch::requested() const { return g_requested; }

}  // namespace touchstone::cli
