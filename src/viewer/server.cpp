#include "touchstone/viewer/server.hpp"

#include <sys/random.h>

#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/session.hpp"

namespace touchstone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using viewer::Message;
using viewer::Session;

// Connections that have not become viewers: asking for the page, or saying nothing. A new one takes the place of the
// oldest, so that those which only hold a place cannot keep anyone out.
constexpr std::size_t kMostWaiting = 96;
constexpr std::chrono::milliseconds kRest{100};  // after the system gave no connection: no descriptor left, for one

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  TOUCHSTONE_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
                   "the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

tcp::endpoint resolve(asio::io_context& context, const ServerOptions& options) {
  if (options.port < 0 || options.port > 65535) {
    throw InputError(ErrorDetail{
        .where = {}, .message = fmt::format("port {}", options.port), .remedy = "choose one from 1 to 65535, or 0"});
  }
  boost::system::error_code problem;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, problem);
  if (problem || found.empty()) {
    throw InputError(ErrorDetail{.where = {},
                                 .message = fmt::format("cannot listen on '{}': {}", options.host, problem.message()),
                                 .remedy = "give a name or an address of this machine, such as 127.0.0.1 or 0.0.0.0"});
  }
  return found.begin()->endpoint();
}

tcp::acceptor listen(asio::io_context& context, const tcp::endpoint& endpoint) {
  boost::system::error_code problem;
  tcp::acceptor acceptor(context);
  acceptor.open(endpoint.protocol(), problem);
  if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor.bind(endpoint, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem == asio::error::address_in_use) {
    throw InputError(ErrorDetail{.where = {},
                                 .message = fmt::format("port {} of {} is taken by another program", endpoint.port(),
                                                        endpoint.address().to_string()),
                                 .remedy = "choose another one, or none for a free one"});
  }
  if (problem) {
    throw InputError(
        ErrorDetail{.where = {},
                    .message = fmt::format("cannot listen on {} port {}: {}", endpoint.address().to_string(),
                                           endpoint.port(), problem.message()),
                    .remedy = "choose another address or port"});
  }
  return acceptor;
}

}  // namespace

class ViewerServer::Implementation {
 public:
  // Without a source the page is a replay, and there is nothing to connect to.
  Implementation(LiveSource* source, std::string document, const ServerOptions& options)
      : options_(options),
        document_(std::move(document)),
        endpoint_(resolve(context_, options)),
        acceptor_(listen(context_, endpoint_)) {
    if (source != nullptr) loop_.emplace(*source, viewer::Pace{options.playing, options.speed}, output());
    endpoint_ = acceptor_.local_endpoint();
    rules_.loopback = endpoint_.address().is_loopback();
    if (!rules_.loopback || options.require_token) rules_.token = random_token();
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }

  ~Implementation() {
    asio::post(context_, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (const auto& [id, session] : sessions_) session->stop();
      context_.stop();
    });
    thread_.join();
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  int port() const { return endpoint_.port(); }
  const std::string& token() const { return rules_.token; }
  std::string url() const {
    const auto address = endpoint_.address();
    std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
    if (address.is_unspecified()) host = asio::ip::host_name();
    return fmt::format("http://{}:{}/{}", host, port(), token().empty() ? "" : "?token=" + token());
  }

 private:
  // From the simulation thread to the network thread.
  viewer::LiveOutput output() {
    return {.frame =
                [this](Message message) {
                  asio::post(context_, [this, message = std::move(message)] {
                    for (const auto& [id, session] : sessions_) session->send_frame(message);
                  });
                },
            .text =
                [this](Message message) {
                  asio::post(context_, [this, message = std::move(message)] {
                    for (const auto& [id, session] : sessions_) session->send_broadcast(message);
                  });
                },
            .reply =
                [this](int client, Message message) {
                  asio::post(context_, [this, client, message = std::move(message)] {
                    const auto found = sessions_.find(client);
                    if (found != sessions_.end()) found->second->send_reply(message);
                  });
                }};
  }

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        make_room(0);
        pause_.expires_after(kRest);
        pause_.async_wait([this](boost::system::error_code stopped) {
          if (!stopped) accept();
        });
        return;
      }
      make_room(kMostWaiting - 1);
      boost::system::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      const auto session = std::make_shared<Session>(
          std::move(socket), next_id_++, rules_,
          viewer::SessionLimits{options_.largest_message, options_.most_messages}, callbacks());
      waiting_.emplace(session->id(), session);
      session->start();
      accept();
    });
  }

  // Ends the oldest of those who wait until at most `most` are left; those that are being answered come last.
  void make_room(std::size_t most) {
    std::erase_if(waiting_, [](const auto& entry) { return entry.second.expired(); });
    for (const bool answering : {false, true}) {
      for (auto entry = waiting_.begin(); waiting_.size() > most && entry != waiting_.end();) {
        const std::shared_ptr<Session> session = entry->second.lock();
        const bool chosen = session == nullptr || session->answering() == answering;
        if (chosen && session != nullptr) session->stop();
        entry = chosen ? waiting_.erase(entry) : std::next(entry);
      }
    }
  }

  Session::Callbacks callbacks() {
    return {.page = [this] { return viewer_page(document_); },
            .may_join = [this] { return loop_ && static_cast<int>(sessions_.size()) < options_.most_clients; },
            .joined =
                [this](const std::shared_ptr<Session>& session) {
                  waiting_.erase(session->id());
                  sessions_.emplace(session->id(), session);
                  loop_->client_joined(session->id());
                },
            .left =
                [this](int client) {
                  sessions_.erase(client);
                  loop_->client_left(client);
                },
            .command = [this](int client, viewer::Command command) { loop_->submit(client, std::move(command)); }};
  }

  const ServerOptions options_;
  const std::string document_;
  asio::io_context context_{1};
  tcp::endpoint endpoint_;
  tcp::acceptor acceptor_;
  viewer::AccessRules rules_;
  // Of the network thread.
  std::map<int, std::shared_ptr<Session>> sessions_;
  std::map<int, std::weak_ptr<Session>> waiting_;  // not viewers yet, oldest first
  int next_id_ = 0;
  asio::steady_timer pause_{context_};

  std::optional<viewer::LiveLoop> loop_;  // its thread ends before what it posts to
  std::thread thread_;
};

ViewerServer::ViewerServer(LiveSource& source, const ServerOptions& options)
    : implementation_(std::make_unique<Implementation>(&source, viewer::live_document(), options)) {}
ViewerServer::ViewerServer(const Replay& replay, const ServerOptions& options)
    : implementation_(std::make_unique<Implementation>(nullptr, replay_json(replay), options)) {}
ViewerServer::~ViewerServer() = default;

int ViewerServer::port() const { return implementation_->port(); }
std::string ViewerServer::url() const { return implementation_->url(); }
const std::string& ViewerServer::token() const { return implementation_->token(); }

}  // namespace touchstone
