// The live viewer's server, as clients meet it: good ones, clumsy ones and hostile ones. Only loopback is used.
#include "touchstone/viewer/server.hpp"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.hpp"
#include "touchstone/scenes/scenes.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/protocol.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using nlohmann::json;
using testing::HasSubstr;

// A simulation with choices of its own, and a contact to look at.
class Laboratory : public Simulation {
 public:
  explicit Laboratory(const char* scene) : Simulation(make_scene(scene)) {}

  LiveChoices choices() const override {
    LiveChoices choices = Simulation::choices();
    choices.solvers = {"first", "second"};
    choices.solver = solver_;
    choices.friction = LiveRange{.value = friction_, .minimum = 0.0, .maximum = 2.0};
    return choices;
  }
  void set_solver(std::string_view name) override { solver_ = name; }
  void set_friction(double coefficient) override { friction_ = coefficient; }
  void step() override {
    if (broken) throw Error("the laboratory burns");
    Simulation::step();
  }
  void read(Frame& frame) override {
    Simulation::read(frame);
    frame.contacts = {
        {.position = {1, 2, 3}, .force = {0, 0, 5}, .mode = ContactMode::kStick, .island = 1, .body_b = 1}};
  }
  std::atomic<bool> broken{false};

 private:
  std::string solver_ = "first";
  double friction_ = 0.8;
};

struct FrameHeader {
  json header;
  std::vector<float> numbers;
};

class Client {
 public:
  explicit Client(int port, const std::string& target = "/live") : socket_(context_) {
    tcp::socket& plain = beast::get_lowest_layer(socket_);
    plain.connect({asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(port)});
    const timeval patience{20, 0};
    setsockopt(plain.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    beast::error_code error;
    socket_.handshake("127.0.0.1:" + std::to_string(port), target, error);
    connected = !error;
  }

  void send(const json& message) { send_raw(message.dump()); }
  void send_raw(const std::string& text, bool binary = false) {
    socket_.binary(binary);
    socket_.write(asio::buffer(text));
  }

  // False when the server has ended the connection.
  bool try_send(const std::string& text) {
    beast::error_code error;
    socket_.binary(false);
    socket_.write(asio::buffer(text), error);
    return !error;
  }

  // The next message; empty if the connection ended.
  std::string receive() {
    beast::flat_buffer buffer;
    beast::error_code error;
    socket_.read(buffer, error);
    if (error) return {};
    return beast::buffers_to_string(buffer.data());
  }
  // The next text of the type, past frames and others.
  json receive_type(const std::string& type) {
    for (;;) {
      const std::string text = receive();
      if (text.empty()) return nullptr;
      if (!socket_.got_text()) continue;
      json message = json::parse(text);
      if (message["type"] == type) return message;
    }
  }
  FrameHeader receive_frame() {
    for (;;) {
      const std::string bytes = receive();
      if (bytes.empty()) return {};
      if (socket_.got_text()) continue;
      std::uint32_t length = 0;
      std::memcpy(&length, bytes.data(), 4);
      FrameHeader frame{json::parse(bytes.substr(4, length)), {}};
      frame.numbers.resize((bytes.size() - 4 - length) / 4);
      std::memcpy(frame.numbers.data(), bytes.data() + 4 + length, 4 * frame.numbers.size());
      return frame;
    }
  }
  // The state after a command was taken.
  json state_after(const json& command) {
    send(command);
    return receive_type("state")["state"];
  }
  std::string error_after(const std::string& text) {
    send_raw(text);
    const json message = receive_type("error");
    return message.is_null() ? "" : message["message"].get<std::string>();
  }
  websocket::close_reason reason() const { return socket_.reason(); }
  void drop() { beast::get_lowest_layer(socket_).close(); }

  bool connected = false;

 private:
  asio::io_context context_;
  websocket::stream<tcp::socket> socket_;
};

using Fields = std::vector<std::pair<std::string, std::string>>;

// Status and body of an HTTP request.
std::pair<int, std::string> get(int port, const std::string& target, const std::string& host = "127.0.0.1",
                                http::verb verb = http::verb::get, const Fields& fields = {}) {
  asio::io_context context;
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(port)});
  http::request<http::string_body> request(verb, target, 11);
  request.set(http::field::host, host);
  for (const auto& [name, value] : fields) request.set(name, value);
  beast::error_code error;
  http::write(socket, request, error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(100'000'000);
  http::read(socket, buffer, parser, error);
  return {parser.get().result_int(), parser.get().body()};
}

// Status of the answer to a request for a WebSocket; 101 is yes.
int upgrade(int port, const std::string& target = "/live", const std::string& origin = "",
            const std::string& host = "127.0.0.1") {
  Fields fields{{"Connection", "Upgrade"},
                {"Upgrade", "websocket"},
                {"Sec-WebSocket-Version", "13"},
                {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  if (!origin.empty()) fields.emplace_back("Origin", origin);
  return get(port, target, host, http::verb::get, fields).first;
}

TEST(LiveServer, GreetsWithTheScene) {
  Laboratory source("quadruped:none");
  const ViewerServer server(source, {.playing = false});
  EXPECT_GT(server.port(), 0);
  EXPECT_EQ(server.url(), "http://127.0.0.1:" + std::to_string(server.port()) + "/");
  Client client(server.port());
  ASSERT_TRUE(client.connected);
  const json hello = client.receive_type("hello");
  EXPECT_EQ(hello["scene"]["bodies"].size(), 14U);
  EXPECT_EQ(hello["channels"].size(), step_channels().size());
  EXPECT_EQ(hello["state"]["playing"], false);
  EXPECT_EQ(hello["state"]["solvers"], json({"first", "second"}));
  EXPECT_EQ(hello["state"]["controls"].size(), 12U);
  const FrameHeader frame = client.receive_frame();
  EXPECT_EQ(frame.header["time"], 0.0);
  ASSERT_EQ(frame.numbers.size(), 14U * 7 + 15);
  State start(*source.model());
  start.q = source.model()->keyframes.front().q;
  EXPECT_FLOAT_EQ(frame.numbers[7 + 2], static_cast<float>(start.q[2]));
  EXPECT_EQ(frame.numbers[14 * 7 + 2], 3.0F);   // contact position
  EXPECT_EQ(frame.numbers[14 * 7 + 8], 5.0F);   // force
  EXPECT_EQ(frame.numbers[14 * 7 + 13], 1.0F);  // stick
}

TEST(LiveServer, CommandsChangeTheState) {
  Laboratory source("quadruped:none");
  const ViewerServer server(source, {.playing = false});
  Client client(server.port());
  client.receive_type("hello");
  EXPECT_EQ(client.state_after({{"type", "solver"}, {"name", "second"}})["solver"], "second");
  EXPECT_EQ(client.state_after({{"type", "friction"}, {"value", 0.25}})["friction"]["value"], 0.25);
  EXPECT_EQ(client.state_after({{"type", "time_step"}, {"value", 0.004}})["time_step"]["value"], 0.004);
  EXPECT_EQ(client.state_after({{"type", "control"}, {"index", 2}, {"value", -1.5}})["controls"][2], -1.5);
  EXPECT_EQ(client.state_after({{"type", "speed"}, {"value", 0.5}})["speed"], 0.5);
  client.send({{"type", "step"}, {"count", 5}});
  FrameHeader frame = client.receive_frame();
  while (frame.header["time"] == 0.0) frame = client.receive_frame();
  EXPECT_NEAR(frame.header["time"].get<double>(), 5 * 0.004, 1e-12);
  EXPECT_EQ(client.receive_type("state")["state"]["playing"], false);
  EXPECT_EQ(client.state_after({{"type", "play"}})["playing"], true);
  while (frame.header["time"].get<double>() < 0.06) frame = client.receive_frame();
  EXPECT_EQ(client.state_after({{"type", "pause"}})["playing"], false);
  client.send({{"type", "reset"}});
  while (frame.header["time"].get<double>() > 0.0) frame = client.receive_frame();
  EXPECT_EQ(frame.header["time"], 0.0);
}

TEST(LiveServer, KeepsThePace) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {.speed = 2.0});
  Client client(server.port());
  client.receive_type("hello");
  FrameHeader frame = client.receive_frame();
  while (frame.header["time"].get<double>() < 0.2) frame = client.receive_frame();
  const double first = frame.header["time"];
  const auto start = std::chrono::steady_clock::now();
  while (frame.header["time"].get<double>() < first + 1.0) frame = client.receive_frame();
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Never faster than asked (a frame of slack); how much slower depends on the machine.
  EXPECT_GT(elapsed, 0.5 - 0.05);
}

TEST(LiveServer, PullsABody) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {.playing = false});
  Client client(server.port());
  client.receive_type("hello");
  FrameHeader frame = client.receive_frame();
  const auto tip = [&frame] {
    const std::vector<float>& n = frame.numbers;
    return Transform{{n[7], n[8], n[9]}, Quaternion(n[10], n[11], n[12], n[13])} * Vector3(0, 0, -1);
  };
  EXPECT_NEAR(tip().x(), -1.0,
              1e-6);  // horizontal; the target is on the other side, and the spring is critically damped
  client.send({{"type", "drag"}, {"body", 1}, {"point", {0, 0, -1}}, {"target", {5, 0, 0}}});
  client.send({{"type", "step"}, {"count", 5000}});
  while (frame.header["time"].get<double>() < 4.9) frame = client.receive_frame();
  EXPECT_GT(tip().x(), 0.999);
  EXPECT_LT(frame.header["values"][0].get<double>(), 1e-3) << "kinetic energy";
  client.state_after({{"type", "release"}});
  client.send({{"type", "step"}, {"count", 500}});
  while (frame.header["time"].get<double>() < 5.4) frame = client.receive_frame();
  EXPECT_LT(tip().z(), -0.5) << "released, it falls";
}

TEST(LiveServer, RefusesWhatMakesNoSense) {
  Laboratory source("quadruped:none");
  const ViewerServer server(source, {.playing = false});
  Client client(server.port());
  client.receive_type("hello");
  EXPECT_THAT(client.error_after("{"), HasSubstr("JSON"));
  EXPECT_THAT(client.error_after("[]"), HasSubstr("type"));
  EXPECT_THAT(client.error_after(R"({"type": 5})"), HasSubstr("type"));
  EXPECT_THAT(client.error_after(R"({"type": "explode"})"), HasSubstr("explode"));
  EXPECT_THAT(client.error_after(R"({"type": "step", "count": 0})"), HasSubstr("count"));
  EXPECT_THAT(client.error_after(R"({"type": "step", "count": 1.5})"), HasSubstr("whole"));
  EXPECT_THAT(client.error_after(R"({"type": "speed"})"), HasSubstr("value"));
  EXPECT_THAT(client.error_after(R"({"type": "speed", "value": -1})"), HasSubstr("-1"));
  EXPECT_THAT(client.error_after(R"({"type": "speed", "value": 1e999})"), Not(testing::IsEmpty()));
  EXPECT_THAT(client.error_after(R"({"type": "solver", "name": "third"})"), HasSubstr("third"));
  EXPECT_THAT(client.error_after(R"({"type": "time_step", "value": 1})"), HasSubstr("time step"));
  EXPECT_THAT(client.error_after(R"({"type": "friction", "value": 3})"), HasSubstr("friction"));
  EXPECT_THAT(client.error_after(R"({"type": "control", "index": 12, "value": 0})"), HasSubstr("12"));
  EXPECT_THAT(client.error_after(R"({"type": "control", "index": 0, "value": 7})"), HasSubstr("FL_abduction"));
  EXPECT_THAT(client.error_after(R"({"type": "drag", "body": 99, "point": [0,0,0], "target": [0,0,0]})"),
              HasSubstr("99"));
  EXPECT_THAT(client.error_after(R"({"type": "drag", "body": 1, "point": [0,0], "target": [0,0,0]})"),
              HasSubstr("point"));
  EXPECT_THAT(client.error_after(std::string(8000, '[')), HasSubstr("JSON"));
  EXPECT_THAT(client.error_after(std::string("\xff\xfe\x00", 3)), testing::AnyOf("", HasSubstr("JSON")));
  Client other(server.port());  // whatever happened to the first, the server lives
  EXPECT_FALSE(other.receive_type("hello").is_null());
}

TEST(LiveServer, EndsConnectionsThatSendTooMuch) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {.playing = false, .most_messages = 50.0});
  Client large(server.port());
  large.receive_type("hello");
  const bool sent = large.try_send(std::string(100'000, ' '));  // the server may hang up before its end
  EXPECT_TRUE(large.receive_type("error").is_null());
  if (sent) {
    EXPECT_EQ(large.reason().code, websocket::close_code::too_big);
  }

  Client fast(server.port());
  fast.receive_type("hello");
  bool ended = false;  // the connection may end while messages are on their way; then its reason is lost
  for (int i = 0; i < 500 && !ended; ++i) ended = !fast.try_send(json{{"type", "speed"}, {"value", 1.0 + i}}.dump());
  const json error = fast.receive_type("error");
  EXPECT_TRUE(ended || !error.is_null());
  if (!error.is_null()) {
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("too many messages"));
  }

  Client binary(server.port());
  binary.receive_type("hello");
  binary.send_raw("abc", true);
  EXPECT_THAT(binary.receive_type("error")["message"].get<std::string>(), HasSubstr("text"));
}

TEST(LiveServer, ServesTenClientsAndSurvivesTheirLeaving) {
  Laboratory source("quadruped:none");
  const ViewerServer server(source, {});
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    ASSERT_TRUE(clients.back()->connected);
    ASSERT_FALSE(clients.back()->receive_type("hello").is_null()) << i;
  }
  for (const auto& client : clients) {
    double time = client->receive_frame().header["time"];
    const double first = time;
    while (time == first) time = client->receive_frame().header["time"];
    EXPECT_GT(time, first);
  }
  clients[0]->send({{"type", "solver"}, {"name", "second"}});  // the others hear of it
  EXPECT_EQ(clients[9]->receive_type("state")["state"]["solver"], "second");
  for (int i = 0; i < 9; ++i) clients[static_cast<std::size_t>(i)]->drop();
  const double time = clients[9]->receive_frame().header["time"];
  double later = time;
  while (later <= time) later = clients[9]->receive_frame().header["time"];
  clients.clear();
  EXPECT_TRUE(Client(server.port()).connected);
}

TEST(LiveServer, LimitsTheNumberOfClients) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {.most_clients = 2});
  Client a(server.port()), b(server.port());
  a.receive_type("hello");
  b.receive_type("hello");
  EXPECT_EQ(upgrade(server.port()), 503);
}

// Connections that say nothing, or half of something, or do not read the answer: more than the server keeps.
TEST(LiveServer, HalfOpenConnectionsDoNotKeepOthersOut) {
  Laboratory source("pendulum");
  const ViewerServer server(source, {});
  const std::string whole = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
  const Client viewer(server.port());
  ASSERT_TRUE(viewer.connected);
  asio::io_context context;
  std::vector<tcp::socket> idle;
  for (int i = 0; i < 450; ++i) {
    tcp::socket& plain = idle.emplace_back(context);
    boost::system::error_code error;
    plain.connect({asio::ip::make_address("127.0.0.1"), static_cast<unsigned short>(server.port())}, error);
    ASSERT_FALSE(error) << i;
    const std::string part = i % 3 == 0 ? "" : i % 3 == 1 ? whole.substr(0, whole.size() / 2) : whole;
    asio::write(plain, asio::buffer(part), error);
    if (i % 75 != 0) continue;
    EXPECT_EQ(get(server.port(), "/nothing").first, 404) << i;
    EXPECT_TRUE(Client(server.port()).connected) << i;
  }
  // The oldest have been ended: reading does not wait.
  const timeval patience{5, 0};
  setsockopt(idle[0].native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 0;
  boost::system::error_code ended;
  idle[0].read_some(asio::buffer(&byte, 1), ended);
  EXPECT_TRUE(ended == asio::error::eof || ended == asio::error::connection_reset) << ended.message();
  // Those who watch are left alone.
  EXPECT_TRUE(Client(server.port()).connected);
  EXPECT_FALSE(get(server.port(), "/nothing").second.empty());
}

TEST(LiveServer, StopsAndSaysWhenTheSourceThrows) {
  Laboratory source("quadruped:none");
  const ViewerServer server(source, {});
  Client client(server.port());
  client.receive_type("hello");
  source.broken = true;
  EXPECT_THAT(client.receive_type("error")["message"].get<std::string>(), HasSubstr("burns"));
  EXPECT_EQ(client.receive_type("state")["state"]["playing"], false);
  EXPECT_THAT(client.error_after(R"({"type": "step"})"), HasSubstr("burns"));
}

TEST(LiveServer, SaysWhenThePortIsTaken) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {});
  try {
    const ViewerServer second(source, {.port = server.port()});
    ADD_FAILURE() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(server.port())));
    EXPECT_THAT(error.what(), HasSubstr("taken"));
  }
  EXPECT_THROW(ViewerServer(source, {.port = 70000}), Error);
  EXPECT_THROW(ViewerServer(source, {.host = "192.0.2.1"}), Error);  // not an address of this machine
}

TEST(LiveServer, ServesThePageAndNothingElse) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {});
  const auto [status, body] = get(server.port(), "/");
  if (has_viewer_page()) {
    EXPECT_EQ(status, 200);
    EXPECT_THAT(body, HasSubstr("touchstone-live"));
  } else {
    EXPECT_EQ(status, 503);
    EXPECT_THAT(body, HasSubstr("npm run build"));
  }
  for (const char* path :
       {"/../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/index.html", "/live/x"}) {
    EXPECT_EQ(get(server.port(), path).first, 404) << path;
  }
  EXPECT_EQ(get(server.port(), "/live").first, 426);
  EXPECT_EQ(get(server.port(), "/", "127.0.0.1", http::verb::post).first, 405);
  EXPECT_EQ(get(server.port(), "/", "127.0.0.1", http::verb::get, {{"X-Long", std::string(60'000, 'x')}}).first, 413);
  EXPECT_EQ(get(server.port(), "/nothing").first, 404) << "still there";
}

TEST(LiveServer, RefusesOtherSites) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {});
  const std::string own = "http://127.0.0.1:" + std::to_string(server.port());
  const std::string host = own.substr(7);
  EXPECT_EQ(upgrade(server.port(), "/live", own, host), 101);
  EXPECT_EQ(upgrade(server.port(), "/live", "http://example.org", host), 403);
  EXPECT_EQ(upgrade(server.port(), "/live", "http://127.0.0.1:1", host), 403);
  EXPECT_EQ(upgrade(server.port(), "/live", "null", host), 403);
  // A name that leads to 127.0.0.1 but belongs to someone else.
  EXPECT_EQ(upgrade(server.port(), "/live", "", "rebound.example.org"), 403);
  EXPECT_EQ(upgrade(server.port(), "/live", "http://rebound.example.org", "rebound.example.org"), 403);
  EXPECT_EQ(get(server.port(), "/", "rebound.example.org").first, 403);
  EXPECT_NE(get(server.port(), "/", "localhost:1234").first, 403) << "through a tunnel";
}

TEST(LiveServer, NeedsItsToken) {
  Simulation source(make_scene("pendulum"));
  const ViewerServer server(source, {.require_token = true});
  ASSERT_EQ(server.token().size(), 32U);
  EXPECT_THAT(server.url(), HasSubstr("?token=" + server.token()));
  EXPECT_EQ(get(server.port(), "/").first, 403);
  EXPECT_EQ(get(server.port(), "/?token=" + std::string(32, '0')).first, 403);
  EXPECT_EQ(get(server.port(), "/?token=").first, 403);
  EXPECT_NE(get(server.port(), "/?token=" + server.token()).first, 403);
  EXPECT_EQ(upgrade(server.port()), 403);
  EXPECT_EQ(upgrade(server.port(), "/live?token=" + server.token()), 101);
  EXPECT_TRUE(Client(server.port(), "/live?x=1&token=" + server.token()).connected);
  Simulation other(make_scene("pendulum"));  // a source has one server
  const ViewerServer second(other, {.require_token = true});
  EXPECT_NE(server.token(), second.token());
}

TEST(SimulationSource, KeepsTheEnergyOfAPendulum) {
  Simulation motion(make_scene("pendulum"));
  motion.set_time_step(1e-4);
  Frame frame;
  motion.read(frame);
  const double start = frame.values[2];
  for (int i = 0; i < 5'000; ++i) motion.step();
  motion.read(frame);
  EXPECT_NEAR(motion.time(), 0.5, 1e-9);
  EXPECT_GT(frame.values[0], 0.1) << "it moves";
  EXPECT_NEAR(frame.values[2], start, 2e-3);  // the semi-implicit step errs by O(h)
  motion.reset();
  EXPECT_EQ(motion.time(), 0.0);
  EXPECT_EQ(motion.state(), motion.initial_state());
}

}  // namespace
}  // namespace touchstone
