// touchstone view: a model in the browser, live, or as a file.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/viewer/free_motion.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/screenshot.hpp"
#include "touchstone/viewer/server.hpp"

extern char** environ;

namespace touchstone::cli {
namespace {

struct ViewOptions {
  ModelOptions model;
  ServerOptions server;
  std::string html, png;
  double duration = 5.0;  // s
  double png_time = 0.0;  // s
  bool dark = false;
  bool paused = false;
  bool no_browser = false;
};

void write_files(FreeMotion& motion, const ViewOptions& options) {
  const Replay replay = record(motion, options.html.empty() ? options.png_time : options.duration);
  if (!options.html.empty()) {
    write_html(replay, options.html);
    print(fmt::format("replay: {} ({:.2f} s, {:.1f} MB)\n", options.html, replay.frames.back().time,
                      1e-6 * static_cast<double>(std::filesystem::file_size(options.html))));
  }
  if (!options.png.empty()) {
    write_png(replay, options.png, {.time = options.png_time, .dark = options.dark});
    print(fmt::format("picture: {}\n", options.png));
  }
}

bool has_display() { return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr; }

// What it prints is not ours, and whether it works is shown by the address that we print anyway.
void open_browser(const std::string& url) {
  std::string program = "xdg-open", address = url;
  char* arguments[] = {program.data(), address.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ) == 0)
    waitpid(child, nullptr, WNOHANG);
  posix_spawn_file_actions_destroy(&actions);
}

void serve(FreeMotion& motion, const ViewOptions& options) {
  if (!has_viewer_page()) viewer_page("");  // throws, and says how to get it
  // The threads of the server inherit the mask, so that the signal waits for us.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const ViewerServer server(motion, options.server);
  print(fmt::format("viewing '{}' at {}\n", motion.title(), styled(server.url(), Style::kAccent)));
  if (!server.token().empty()) {
    print("  whoever has this address can watch and control the simulation; the connection is not encrypted\n");
  }
  print("  end with Ctrl-C\n");
  std::fflush(stdout);
  if (!options.no_browser && has_display()) open_browser(server.url());
  int received = 0;
  sigwait(&signals, &received);
}

}  // namespace

void add_view_command(CLI::App& app, Context& /*context*/) {
  const auto options = std::make_shared<ViewOptions>();
  CLI::App* command =
      app.add_subcommand("view", "Show a model in the browser: live, or as a file that needs no program");
  add_model_options(*command, options->model);
  command->add_option("--port", options->server.port, "Port to listen on (default: a free one)")
      ->option_text("N")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option("--host", options->server.host,
                   "Address to listen on; other than 127.0.0.1 the page needs the token that is printed")
      ->option_text("ADDRESS");
  command->add_flag("--token", options->server.require_token,
                    "Need the token on loopback too, where other users of this machine could look");
  command->add_flag("--no-browser", options->no_browser, "Print the address, open nothing");
  command->add_flag("--paused", options->paused, "Do not start by itself");
  command->add_option("--html", options->html, "Write a replay into one HTML file instead")->option_text("FILE");
  command->add_option("--png", options->png, "Write a picture instead, through headless Chromium")->option_text("FILE");
  command->add_option("--time", options->duration, "Length of the replay in seconds")
      ->option_text("S")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  command->add_option("--at", options->png_time, "Time of the picture in seconds")
      ->option_text("S")
      ->check(CLI::Range(0.0, 600.0));
  command->add_flag("--dark", options->dark, "A dark picture");
  command->footer(R"(Examples:
  touchstone view double-pendulum
  touchstone view quadruped --html quadruped.html --time 1
  touchstone view robot.urdf --floating-base --png robot.png
  ssh -L 8000:localhost:8000 HOST touchstone view pendulum --port 8000   then open localhost:8000 here

Until the simulator exists, motion is free: gravity, springs, servos and the mouse act; contacts and joint limits
do not.)");
  command->callback([options] {
    if (options->duration < options->png_time) options->duration = options->png_time;
    options->server.playing = !options->paused;
    FreeMotion motion(load(options->model));
    if (options->html.empty() && options->png.empty()) {
      serve(motion, *options);
    } else {
      write_files(motion, *options);
    }
  });
}

}  // namespace touchstone::cli
