// The simulation thread of the live viewer: takes commands, keeps the pace, publishes frames.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "touchstone/viewer/protocol.hpp"

namespace touchstone::viewer {

using Message = std::shared_ptr<const std::string>;

// Where the loop's messages go. Called from the simulation thread.
struct LiveOutput {
  std::function<void(Message)> frame;              // to all clients; may be dropped by slow ones
  std::function<void(Message)> text;               // to all clients
  std::function<void(int client, Message)> reply;  // to one client
};

class LiveLoop {
 public:
  // `source` must outlive the loop. Starts the thread.
  LiveLoop(LiveSource& source, Pace pace, LiveOutput output);
  LiveLoop(const LiveLoop&) = delete;
  LiveLoop& operator=(const LiveLoop&) = delete;
  ~LiveLoop();

  // From any thread. While nobody looks, time stands still.
  void client_joined(int client);
  void client_left(int client);
  void submit(int client, Command command);

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    enum class Kind { kJoined, kLeft, kCommand } kind = Kind::kCommand;
    int client = 0;
    Command command;
  };

  void push(Request request);
  void run();
  void handle(const Request& request);
  void apply(const Command& command);
  void advance();
  void publish_frame();
  void restart_clock();

  LiveSource& source_;
  Pace pace_;
  LiveOutput output_;

  // Of the simulation thread alone.
  Frame frame_;
  int clients_ = 0;
  int dragging_client_ = -1;
  Clock::time_point started_;  // pace: source time started_at_ belongs to this moment
  double started_at_ = 0.0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::deque<Request> requests_;
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace touchstone::viewer
