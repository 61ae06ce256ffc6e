#include "touchstone/viewer/live_loop.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "touchstone/base/error.hpp"

namespace touchstone::viewer {
namespace {

constexpr std::chrono::microseconds kFrameTime{16'667};
constexpr std::chrono::milliseconds kIdleTime{250};
constexpr double kLargestLag = 0.1;            // s of wall time; what is behind more is not made up for
constexpr std::size_t kMostRequests = 10'000;  // waiting; more are dropped

Message shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

LiveLoop::LiveLoop(LiveSource& source, Pace pace, LiveOutput output)
    : source_(source), pace_(pace), output_(std::move(output)), thread_([this] { run(); }) {}

LiveLoop::~LiveLoop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LiveLoop::push(Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (request.kind == Request::Kind::kCommand && requests_.size() >= kMostRequests) return;
    requests_.push_back(std::move(request));
  }
  wake_.notify_all();
}

void LiveLoop::client_joined(int client) { push({Request::Kind::kJoined, client, {}}); }
void LiveLoop::client_left(int client) { push({Request::Kind::kLeft, client, {}}); }
void LiveLoop::submit(int client, Command command) { push({Request::Kind::kCommand, client, std::move(command)}); }

void LiveLoop::run() {
  restart_clock();
  auto next_frame = Clock::now();
  std::deque<Request> requests;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const bool running = (pace_.playing || source_.moves_by_itself()) && clients_ > 0;
      const auto until = running ? next_frame : Clock::now() + kIdleTime;
      wake_.wait_until(lock, until, [this] { return stop_ || !requests_.empty(); });
      if (stop_) return;
      requests.swap(requests_);
    }
    for (const Request& request : requests) handle(request);
    requests.clear();
    if (clients_ == 0 || Clock::now() < next_frame) continue;
    const bool news = source_.moves_by_itself() && source_.time() != frame_.time;
    try {
      if (pace_.playing) advance();
      if (pace_.playing || news) publish_frame();
    } catch (const std::exception& error) {
      pace_.playing = false;
      output_.text(shared(error_message(error.what())));
      output_.text(shared(state_message(source_, pace_)));
    }
    next_frame = std::max(next_frame + kFrameTime, Clock::now());
  }
}

void LiveLoop::restart_clock() {
  started_ = Clock::now();
  started_at_ = source_.time();
}

void LiveLoop::handle(const Request& request) {
  try {
    switch (request.kind) {
      case Request::Kind::kJoined:
        if (clients_++ == 0) restart_clock();
        output_.reply(request.client, shared(hello_message(source_, pace_)));
        publish_frame();
        break;
      case Request::Kind::kLeft:
        --clients_;
        if (request.client == dragging_client_) source_.release_drag();
        break;
      case Request::Kind::kCommand:
        check_command(request.command, source_);
        apply(request.command);
        if (request.command.type == CommandType::kDrag) {
          dragging_client_ = request.client;
        } else {
          output_.text(shared(state_message(source_, pace_)));
        }
        break;
    }
  } catch (const std::exception& error) {
    output_.reply(request.client, shared(error_message(error.what())));
  }
}

void LiveLoop::apply(const Command& command) {
  switch (command.type) {
    case CommandType::kPlay:
      pace_.playing = true;
      restart_clock();
      break;
    case CommandType::kPause:
      pace_.playing = false;
      break;
    case CommandType::kReset:
      source_.reset();
      restart_clock();
      publish_frame();
      break;
    case CommandType::kStep:
      pace_.playing = false;
      for (int i = 0; i < command.count; ++i) source_.step();
      publish_frame();
      break;
    case CommandType::kSpeed:
      pace_.speed = command.value;
      restart_clock();
      break;
    case CommandType::kSolver:
      source_.set_solver(command.name);
      break;
    case CommandType::kTimeStep:
      source_.set_time_step(command.value);
      break;
    case CommandType::kFriction:
      source_.set_friction(command.value);
      break;
    case CommandType::kControl:
      source_.set_control(command.index, command.value);
      break;
    case CommandType::kDrag:
      source_.set_drag(command.drag);
      break;
    case CommandType::kRelease:
      source_.release_drag();
      break;
  }
}

// Steps up to the present. A simulation that is too slow for the pace falls behind, frame by frame, instead of
// blocking the thread.
void LiveLoop::advance() {
  const auto deadline = Clock::now() + kFrameTime;
  const double elapsed = std::chrono::duration<double>(Clock::now() - started_).count();
  const double target = started_at_ + elapsed * pace_.speed;
  while (source_.time() < target && Clock::now() < deadline) {
    const double before = source_.time();
    source_.step();
    if (!(source_.time() > before)) break;  // it has come to its end
  }
  if (target - source_.time() > kLargestLag * pace_.speed) restart_clock();
}

void LiveLoop::publish_frame() {
  source_.read(frame_);
  output_.frame(shared(frame_message(frame_)));
}

}  // namespace touchstone::viewer
