// One client of the live viewer, from its first request to the end of its WebSocket. All of it runs on the server's
// network thread. Not for users of the library.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include "touchstone/viewer/live_loop.hpp"

namespace touchstone::viewer {

// What a request must show to be served.
struct AccessRules {
  std::string token;     // empty: none needed
  bool loopback = true;  // then the Host must be this machine: a name that an attacker controls must not lead here
};

// The answer to a request that may not be served; nothing if it may.
struct Refusal {
  boost::beast::http::status status;
  std::string reason;
};
using Request = boost::beast::http::request<boost::beast::http::string_body>;
std::optional<Refusal> refusal(const Request& request, const AccessRules& rules);

struct SessionLimits {
  std::size_t largest_message = 0;
  double most_messages = 0.0;  // a second
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Callbacks {
    std::function<std::string()> page;  // what / shows; may throw Error
    std::function<bool()> may_join;     // false: too many clients
    std::function<void(const std::shared_ptr<Session>&)> joined;
    std::function<void(int)> left;
    std::function<void(int, Command)> command;
  };

  Session(boost::asio::ip::tcp::socket socket, int id, const AccessRules& rules, SessionLimits limits,
          Callbacks callbacks);

  int id() const { return id_; }
  void start();
  void stop();
  // A request has come and its answer is on its way; otherwise the next request is waited for.
  bool answering() const { return answering_; }
  // From the simulation to this client alone; the first is the hello.
  void send_reply(Message message) {
    greeted_ = true;
    send_text(std::move(message));
  }
  // To all clients, but not before their hello.
  void send_broadcast(const Message& message) {
    if (greeted_) send_text(message);
  }
  // Only the newest frame waits for a slow client.
  void send_frame(const Message& message);

 private:
  using WebSocket = boost::beast::websocket::stream<boost::beast::tcp_stream>;

  void read_request();
  void answer(const Request& request);
  void respond(boost::beast::http::status status, std::string_view type, std::string body, bool keep_alive);
  void upgrade(const Request& request);
  void read_message();
  void receive(std::string_view text);
  void send_text(Message message);
  bool within_rate();
  void write_next();
  void close(boost::beast::websocket::close_code code, std::string_view reason);
  void leave();

  const int id_;
  const AccessRules& rules_;
  const SessionLimits limits_;
  Callbacks callbacks_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::optional<boost::beast::tcp_stream> stream_;  // until the upgrade
  std::optional<WebSocket> socket_;                 // from then on
  bool answering_ = false;
  bool joined_ = false;
  bool greeted_ = false;  // the hello is on its way: frames may follow
  bool writing_ = false;
  bool closing_ = false;
  std::deque<Message> texts_;
  Message frame_;
  Message in_flight_;
  double allowance_ = 0.0;  // messages that may come at once
  std::chrono::steady_clock::time_point last_message_;
  std::chrono::steady_clock::time_point last_complaint_;
};

}  // namespace touchstone::viewer
