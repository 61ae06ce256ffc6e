#include "touchstone/viewer/session.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "touchstone/base/error.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone::viewer {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Clock = std::chrono::steady_clock;
using Error_code = beast::error_code;

// Whoever takes longer is gone.
constexpr std::chrono::seconds kRequestTime{10};    // for a request, from the first byte waited for to the last
constexpr std::chrono::seconds kAnswerTime{60};     // to take the page, on a slow line
constexpr std::chrono::seconds kHandshakeTime{10};  // of the WebSocket
constexpr std::chrono::seconds kSilenceTime{30};    // of a viewer, who is asked (ping) after half of it
constexpr std::chrono::seconds kComplaintTime{1};
constexpr std::size_t kLargestHeader = 8 * 1024;
constexpr std::size_t kMostTexts = 256;  // waiting for a slow client; more end the connection

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

// The name in "name:port" or "[address]:port".
std::string_view host_name(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.rfind(':'));
}

bool is_this_machine(std::string_view host) {
  constexpr std::array<std::string_view, 3> kNames{"localhost", "127.0.0.1", "[::1]"};
  return std::find(kNames.begin(), kNames.end(), host_name(host)) != kNames.end();
}

// Takes the same time wherever the texts differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

// The value of token=... after the question mark.
std::string_view token_of(std::string_view target) {
  constexpr std::string_view kKey = "token=";
  std::size_t start = target.find('?');
  while (start != std::string_view::npos) {
    const std::size_t end = target.find('&', start + 1);
    const std::string_view part = target.substr(start + 1, end == std::string_view::npos ? end : end - start - 1);
    if (part.substr(0, kKey.size()) == kKey) return part.substr(kKey.size());
    start = end;
  }
  return {};
}

}  // namespace

std::optional<Refusal> refusal(const Request& request, const AccessRules& rules) {
  const std::string_view host = view(request[http::field::host]);
  if (rules.loopback && !is_this_machine(host)) {
    return Refusal{http::status::forbidden, "this server answers to localhost only"};
  }
  const auto origin = request.find(http::field::origin);
  if (origin != request.end()) {
    const std::string_view from = view(origin->value());
    if (from != "http://" + std::string(host) && from != "https://" + std::string(host)) {
      return Refusal{http::status::forbidden, "requests from other web sites are refused"};
    }
  }
  if (!rules.token.empty() && !equal_in_constant_time(token_of(view(request.target())), rules.token)) {
    return Refusal{http::status::forbidden, "the address needs the token that the program printed (?token=...)"};
  }
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return Refusal{http::status::method_not_allowed, "only GET is served here"};
  }
  const std::string_view path = path_of(view(request.target()));
  if (path != "/" && path != "/live")
    return Refusal{http::status::not_found, "there is nothing here; the viewer is at /"};
  return std::nullopt;
}

Session::Session(boost::asio::ip::tcp::socket socket, int id, const AccessRules& rules, SessionLimits limits,
                 Callbacks callbacks)
    : id_(id),
      rules_(rules),
      limits_(limits),
      callbacks_(std::move(callbacks)),
      stream_(std::in_place, std::move(socket)),
      allowance_(limits.most_messages),
      last_message_(Clock::now()),
      last_complaint_(Clock::now() - kComplaintTime) {}

void Session::start() { read_request(); }

void Session::stop() {
  Error_code ignored;
  if (socket_) {
    beast::get_lowest_layer(*socket_).socket().close(ignored);
  } else if (stream_) {
    stream_->socket().close(ignored);
  }
}

// --- HTTP -----------------------------------------------------------------------------------------------------------

void Session::read_request() {
  answering_ = false;
  parser_.emplace();
  parser_->header_limit(kLargestHeader);
  parser_->body_limit(0);
  stream_->expires_after(kRequestTime);
  http::async_read(*stream_, buffer_, *parser_, [self = shared_from_this()](Error_code error, std::size_t /*bytes*/) {
    if (error == http::error::end_of_stream || !self->stream_->socket().is_open()) return;
    if (error == http::error::header_limit || error == http::error::body_limit) {
      self->respond(http::status::payload_too_large, "text/plain", "the request is too large\n", false);
    } else if (!error) {
      self->answer(self->parser_->get());
    }
  });
}

void Session::answer(const Request& request) {
  answering_ = true;
  if (const auto refused = refusal(request, rules_)) {
    respond(refused->status, "text/plain", refused->reason + "\n", false);
    return;
  }
  if (path_of(view(request.target())) == "/live") {
    if (!websocket::is_upgrade(request)) {
      respond(http::status::upgrade_required, "text/plain", "this address speaks WebSocket\n", false);
    } else if (!callbacks_.may_join()) {
      respond(http::status::service_unavailable, "text/plain", "too many viewers are connected\n", false);
    } else {
      upgrade(request);
    }
    return;
  }
  try {
    respond(http::status::ok, "text/html; charset=utf-8", callbacks_.page(), request.keep_alive());
  } catch (const Error& error) {
    respond(http::status::service_unavailable, "text/plain; charset=utf-8", std::string(error.what()) + "\n", false);
  }
}

void Session::respond(http::status status, std::string_view type, std::string body, bool keep_alive) {
  const bool head = parser_->get().method() == http::verb::head;
  const auto response = std::make_shared<http::response<http::string_body>>(status, 11);
  response->set(http::field::server, std::string("touchstone/") + kVersion);
  response->set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response->set(http::field::cache_control, "no-store");
  response->set("X-Content-Type-Options", "nosniff");
  response->set("Referrer-Policy", "no-referrer");  // the address may hold the token
  response->set("Content-Security-Policy",
                "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
                "connect-src 'self'; base-uri 'none'; form-action 'none'");
  response->keep_alive(keep_alive);
  stream_->expires_after(kAnswerTime);
  response->content_length(body.size());
  if (!head) response->body() = std::move(body);
  http::async_write(*stream_, *response,
                    [self = shared_from_this(), response](Error_code error, std::size_t /*bytes*/) {
                      if (error) return;
                      if (response->keep_alive()) {
                        self->read_request();
                      } else {
                        Error_code ignored;
                        self->stream_->socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
                      }
                    });
}

// --- WebSocket ------------------------------------------------------------------------------------------------------

void Session::upgrade(const Request& request) {
  stream_->expires_never();
  socket_.emplace(std::move(*stream_));
  stream_.reset();
  socket_->set_option(websocket::stream_base::timeout{kHandshakeTime, kSilenceTime, true});
  socket_->read_message_max(limits_.largest_message);
  socket_->async_accept(request, [self = shared_from_this()](Error_code error) {
    if (error) return;
    self->joined_ = true;
    self->callbacks_.joined(self);
    self->buffer_.consume(self->buffer_.size());
    self->read_message();
  });
}

void Session::read_message() {
  socket_->async_read(buffer_, [self = shared_from_this()](Error_code error, std::size_t /*bytes*/) {
    if (error) {  // also: closed, too large (the client is told by the close frame)
      self->leave();
      return;
    }
    const auto data = self->buffer_.cdata();
    if (!self->socket_->got_text()) {
      self->send_text(std::make_shared<const std::string>(error_message("messages must be text (JSON)")));
    } else if (self->within_rate()) {
      self->receive({static_cast<const char*>(data.data()), data.size()});
    }
    self->buffer_.consume(self->buffer_.size());
    self->read_message();
  });
}

void Session::receive(std::string_view text) {
  try {
    callbacks_.command(id_, parse_command(text));
  } catch (const Error& error) {
    send_text(std::make_shared<const std::string>(error_message(error.what())));
  }
}

// A bucket that fills with the allowed rate and holds a second's worth.
bool Session::within_rate() {
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - last_message_).count();
  last_message_ = now;
  allowance_ = std::min(limits_.most_messages, allowance_ + elapsed * limits_.most_messages);
  if (allowance_ >= 1.0) {
    allowance_ -= 1.0;
    return true;
  }
  if (now - last_complaint_ >= kComplaintTime) {
    last_complaint_ = now;
    send_text(std::make_shared<const std::string>(
        error_message(fmt::format("too many messages; at most {:.0f} a second are read", limits_.most_messages))));
  }
  return false;
}

void Session::send_text(Message message) {
  if (closing_) return;
  if (texts_.size() >= kMostTexts) {
    close(websocket::close_code::policy_error, "the connection is too slow");
    return;
  }
  texts_.push_back(std::move(message));
  write_next();
}

void Session::send_frame(const Message& message) {
  if (closing_ || !greeted_) return;
  frame_ = message;
  write_next();
}

void Session::write_next() {
  if (writing_ || closing_ || !socket_) return;
  const bool text = !texts_.empty();
  if (text) {
    in_flight_ = std::move(texts_.front());
    texts_.pop_front();
  } else if (frame_ != nullptr) {
    in_flight_ = std::exchange(frame_, nullptr);
  } else {
    return;
  }
  writing_ = true;
  socket_->text(text);
  socket_->async_write(boost::asio::buffer(*in_flight_),
                       [self = shared_from_this()](Error_code error, std::size_t /*bytes*/) {
                         self->writing_ = false;
                         self->in_flight_.reset();
                         if (!error) self->write_next();
                       });
}

void Session::close(websocket::close_code code, std::string_view reason) {
  if (closing_ || !socket_) return;
  closing_ = true;
  socket_->async_close(websocket::close_reason(code, beast::string_view(reason.data(), reason.size())),
                       [self = shared_from_this()](Error_code /*error*/) {});
}

void Session::leave() {
  closing_ = true;
  if (std::exchange(joined_, false)) callbacks_.left(id_);
}

}  // namespace touchstone::viewer
