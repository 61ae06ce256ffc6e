// The live viewer of a simulator that Python owns.
//
// The server's simulation thread takes the GIL for all it does with the simulator, and leaves it alone while a native
// call of another thread works on it without the GIL (PySimulator::busy). So the page and Python take turns.
#include "viewer.hpp"

#include <chrono>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "bindings.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/viewer/page.hpp"
#include "touchstone/viewer/simulation.hpp"

namespace touchstone::python {
namespace {

class SharedSource final : public SimulatorSource {
 public:
  explicit SharedSource(PySimulator& simulator)
      : SimulatorSource(simulator.sim.model()), own_(simulator), start_(simulator.sim.state()) {}

  const ModelPtr& model() const override { return own_.sim.model_ptr(); }
  State initial_state() const override { return start_; }
  bool moves_by_itself() const override { return true; }

  double time() const override {
    const nb::gil_scoped_acquire acquire;
    return own_.busy ? frame_.time : SimulatorSource::time();
  }
  void step() override {
    alone([this] { SimulatorSource::step(); });
  }
  void reset() override {
    alone([this] { SimulatorSource::reset(); });
  }
  void read(Frame& frame) override {
    alone([&] { SimulatorSource::read(frame_); });
    frame = frame_;
  }
  std::vector<double> controls() const override {
    const nb::gil_scoped_acquire acquire;
    return SimulatorSource::controls();
  }
  void set_friction(double coefficient) override {
    alone([&] { SimulatorSource::set_friction(coefficient); });
  }
  void set_control(int index, double value) override {
    alone([&] { SimulatorSource::set_control(index, value); });
  }

 protected:
  Simulator& simulator() override { return own_.sim; }
  const Simulator& simulator() const override { return own_.sim; }
  void go_to_start() override { own_.sim.reset(start_); }
  void move() override { own_.step(); }

 private:
  // Nothing happens while another thread steps. What a callback of Python raises is told to the page; the exception
  // must end while the GIL is held.
  template <typename Action>
  void alone(Action action) {
    const nb::gil_scoped_acquire acquire;
    if (own_.busy) return;
    const Guard guard(own_.busy, "simulator");
    try {
      action();
    } catch (const nb::python_error& error) {
      throw Error("{}", error.what());
    }
  }

  PySimulator& own_;
  State start_;
  Frame frame_;
};

// Viewers that are open. A thread that waits for the interpreter must not outlive it.
std::set<PyViewer*>& open_viewers() {
  static std::set<PyViewer*> viewers;
  return viewers;
}

void close_all() {
  while (!open_viewers().empty()) (*open_viewers().begin())->close();
}

}  // namespace

PyViewer::PyViewer(PySimulator& simulator, const ServerOptions& options, int height)
    : source_(std::make_unique<SharedSource>(simulator)), height_(height) {
  if (!has_viewer_page()) viewer_page("");  // throws, and says how to get it
  server_ = std::make_unique<ViewerServer>(*source_, options);
  url_ = server_->url();
  open_viewers().insert(this);
}

PyViewer::~PyViewer() { close(); }

// The server's simulation thread may wait for the GIL.
void PyViewer::close() {
  open_viewers().erase(this);
  const nb::gil_scoped_release release;
  server_.reset();
}

void PyViewer::wait() {
  constexpr std::chrono::milliseconds kNap{100};
  while (is_open()) {
    {
      const nb::gil_scoped_release release;
      std::this_thread::sleep_for(kNap);
    }
    if (PyErr_CheckSignals() == 0) continue;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) throw nb::python_error();
    PyErr_Clear();
    close();
  }
}

std::string PyViewer::html() const {
  if (!is_open()) return "<i>a viewer that was closed</i>";
  return fmt::format(R"(<iframe src="{0}" width="100%" height="{1}" style="border:0" allow="fullscreen"></iframe><br>)"
                     R"(<a href="{0}" target="_blank">{0}</a>)",
                     url_, height_);
}

std::unique_ptr<PyViewer> make_viewer(PySimulator& simulator, const std::string& host, int port, bool token,
                                      bool paused, double speed, const nb::object& browser, int height) {
  if (port < 0 || port > 65535) throw Error("port {}; give 0 for a free one, or at most 65535", port);
  if (!(speed > 0.0)) throw Error("speed {}; give simulated seconds for a second, more than 0", speed);
  ServerOptions options;
  options.host = host;
  options.port = port;
  options.require_token = token;
  options.playing = !paused;
  options.speed = speed;
  auto viewer = std::make_unique<PyViewer>(simulator, options, height);
  nb::module_::import_("touchstone._browser").attr("show")(viewer->url(), browser);
  return viewer;
}

void bind_viewer(nb::module_& m) {
  nb::class_<PyViewer>(m, "Viewer",
                       "A page that shows a simulator and can drive it: play, step, drag, controls, friction. "
                       "Simulator.view makes it. The simulator stays yours: `sim.step()` goes on working, and the page "
                       "shows what it does. In a notebook the page appears below the cell.")
      .def("close", &PyViewer::close, "Ends the server; the simulator stays as it is. Twice does no harm.")
      .def("wait", &PyViewer::wait, "Serves until Ctrl-C, then closes: the last line of a script.")
      .def_prop_ro("is_open", &PyViewer::is_open)
      .def_prop_ro("url", &PyViewer::url, "What to type into a browser, with the token if there is one.")
      .def_prop_ro("port", &PyViewer::port, "0 when closed.")
      .def(
          "__enter__", [](nb::handle_t<PyViewer> self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> Viewer"))
      .def(
          "__exit__", [](PyViewer& self, const nb::args&) { self.close(); }, nb::arg("args"),
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def("_repr_html_", &PyViewer::html)
      .def("__repr__", [](const PyViewer& self) {
        return self.is_open() ? fmt::format("<Viewer at {}>", self.url()) : std::string("<Viewer, closed>");
      });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&close_all));
}

}  // namespace touchstone::python
