// Serves the viewer's page and a live simulation to browsers: HTTP and WebSocket on one port.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "touchstone/viewer/live_source.hpp"
#include "touchstone/viewer/replay.hpp"

namespace touchstone {

struct ServerOptions {
  std::string host = "127.0.0.1";  // name or address to listen on; anything but loopback needs the token of url()
  int port = 0;                    // 0: a free one
  bool require_token = false;      // on loopback too: other users of this machine cannot look
  bool playing = true;             // or paused at the start
  double speed = 1.0;              // simulated seconds for a second
  int most_clients = 64;
  std::size_t largest_message = 16 * 1024;  // bytes, of a client; larger ones end the connection
  double most_messages = 400.0;             // a second, of a client; more are refused
};

// Two threads: one for all clients, one for the simulation. Requests from other web sites (Origin, Host) are refused.
class ViewerServer {
 public:
  // `source` must outlive the server. Throws Error when the port is taken or the host unknown.
  ViewerServer(LiveSource& source, const ServerOptions& options);
  // Serves a replay.
  ViewerServer(const Replay& replay, const ServerOptions& options);
  ~ViewerServer();  // says goodbye to the clients and stops
  ViewerServer(const ViewerServer&) = delete;
  ViewerServer& operator=(const ViewerServer&) = delete;

  int port() const;
  // What to type into a browser, with the token if there is one.
  std::string url() const;
  // Empty if none is needed.
  const std::string& token() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace touchstone
