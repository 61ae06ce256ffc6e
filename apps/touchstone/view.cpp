// touchstone view: a scene or a recording in the browser, live, or as a file.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "commands.hpp"
#include "console.hpp"
#include "options.hpp"
#include "recording_state.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/page_link.hpp"
#include "touchstone/viewer/recording_replay.hpp"
#include "touchstone/viewer/screenshot.hpp"
#include "touchstone/viewer/server.hpp"
#include "touchstone/viewer/simulation.hpp"

extern char** environ;

namespace touchstone::cli {
namespace {

struct ViewOptions {
  SceneOptions scene;
  ServerOptions server;
  std::string html, png, mp4;
  double duration = 0.0;  // s; 0: the scene's
  double png_time = 0.0;  // s
  double rate = 30.0;     // pictures a second of the film
  bool dark = false;
  bool paused = false;
  bool no_browser = false;
};

bool is_recording(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension().string();
  return extension == ".h5" || extension == ".hdf5" || is_hdf5_file(name);
}

bool writes_files(const ViewOptions& options) {
  return !options.html.empty() || !options.png.empty() || !options.mp4.empty();
}

// Before anything runs.
void check_files(const ViewOptions& options) {
  const std::vector<NamedFile> outputs{{"--html", options.html}, {"--png", options.png}, {"--mp4", options.mp4}};
  require_distinct(outputs, {{"the input", options.scene.model.model}});
  for (const NamedFile& output : outputs) {
    if (!output.file.empty()) require_writable(output.file);
  }
}

void write_files(const Replay& replay, const ViewOptions& options) {
  if (!options.html.empty()) {
    write_html(replay, options.html);
    print(written_text("replay", options.html, fmt::format("{:.2f} s", replay.frames.back().time)));
  }
  if (!options.png.empty()) {
    write_png(replay, options.png, {.time = options.png_time, .dark = options.dark});
    print(written_text("picture", options.png));
  }
  if (!options.mp4.empty()) {
    write_mp4(replay, options.mp4, {.rate = options.rate, .dark = options.dark});
    print(written_text("film", options.mp4, fmt::format("{:.2f} s", replay.frames.back().time)));
  }
}

bool has_display() { return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr; }

// What it prints is not ours, and whether it works is shown by the address that we print anyway.
void open_browser(std::string address) {
  std::string program = "xdg-open";
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

// `subject` is a live source or a replay.
template <typename Subject>
void serve(Subject& subject, const std::string& title, const ViewOptions& options) {
  if (!has_viewer_page()) viewer_page("");  // throws, and says how to get it
  // The threads of the server inherit the mask, so that the signal waits for us.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const ViewerServer server(subject, options.server);
  print(fmt::format("viewing '{}' at {}\n", title, styled(server.url(), Style::kAccent)));
  if (!server.token().empty()) {
    print("  whoever has this address can watch and control the simulation; the connection is not encrypted\n");
  }
  print("  end with Ctrl-C\n");
  std::fflush(stdout);
  // Everyone may see the words of a command: a token goes by way of a file.
  std::optional<PageLink> link;
  if (!options.no_browser && has_display()) {
    if (!server.token().empty()) link.emplace(server.url());
    open_browser(link ? link->file().string() : server.url());
  }
  int received = 0;
  sigwait(&signals, &received);
}

int view_recording(const ViewOptions& options) {
  if (options.scene.model.maximal) throw Error("--maximal: a recording has the coordinates that it was made in");
  const Recording recording(options.scene.model.model);
  report_state(recording, options.scene.model.model);
  const Replay replay = replay_of(recording);
  if (!writes_files(options)) {
    serve(replay, replay.title, options);
  } else {
    write_files(replay, options);
  }
  return recording.damage().empty() ? kSuccess : kCheckFailed;
}

void view_scene(const ViewOptions& options) {
  const Scene scene = load(options.scene);
  show_warnings(scene);
  Simulation simulation(scene);
  if (!writes_files(options)) {
    serve<LiveSource>(simulation, simulation.title(), options);
    return;
  }
  double duration = options.duration > 0.0 ? options.duration : scene.duration;
  if (options.html.empty() && options.mp4.empty()) duration = options.png_time;
  write_files(record(simulation, std::max(duration, options.png_time)), options);
}

}  // namespace

void add_view_command(Command app, Context& context) {
  const auto options = std::make_shared<ViewOptions>();
  Command command = app.add_subcommand(
      "view", "Show a scene or a recording in the browser: live, or as a file that needs no program");
  add_scene_options(command, options->scene);
  command.add_option("--port", options->server.port, "Port to listen on (default: a free one)")
      .option_text("N")
      .check(number_between(0, 65535));
  command
      .add_option("--host", options->server.host,
                  "Address to listen on; other than 127.0.0.1 the page needs the token that is printed")
      .option_text("ADDRESS");
  command.add_flag("--token", options->server.require_token,
                   "Need the token on loopback too, where other users of this machine could look");
  command.add_flag("--no-browser", options->no_browser, "Print the address, open nothing");
  command.add_flag("--paused", options->paused, "Do not start by itself");
  command.add_option("--html", options->html, "Write a replay into one HTML file instead").option_text("FILE");
  command.add_option("--png", options->png, "Write a picture instead, through headless Chromium").option_text("FILE");
  command.add_option("--mp4", options->mp4, "Write a film instead, through headless Chromium and ffmpeg")
      .option_text("FILE");
  command.add_option("--fps", options->rate, "Pictures a second of the film")
      .option_text("N")
      .capture_default_str()
      .check(number_between(1.0, 120.0));
  command.add_option("--time", options->duration, "Length of the replay in seconds (default: the scene's)")
      .option_text("S")
      .check(number_between(0.0, 600.0));
  command.add_option("--at", options->png_time, "Time of the picture in seconds")
      .option_text("S")
      .check(number_between(0.0, 600.0));
  command.add_flag("--dark", options->dark, "A dark picture or film");
  command.footer(R"(Examples:
  touchstone view quadruped
  touchstone view pile:100 --solver ncp-admm
  touchstone view run.h5                      a recording of 'touchstone run --record'
  touchstone view hand --html hand.html --time 2
  touchstone view domino --mp4 domino.mp4 --fps 60
  touchstone view robot.urdf --floating --ground --hold --png robot.png --at 1
  ssh -L 8000:localhost:8000 HOST touchstone view arch --port 8000   then open localhost:8000 here

Live, the page shows contacts, forces and the certificate of each step; solver, time step, friction and controls may be
changed while it runs, and shift drag pulls a body.)");
  command.callback([options, &context] {
    options->server.playing = !options->paused;
    check_files(*options);
    if (is_recording(options->scene.model.model)) {
      context.exit_code = view_recording(*options);
    } else {
      view_scene(*options);
    }
  });
}

}  // namespace touchstone::cli
