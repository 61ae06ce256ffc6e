// Python's Viewer: the live page of a simulator that Python owns.
#pragma once

#include <memory>
#include <string>

#include "simulator.hpp"
#include "touchstone/viewer/server.hpp"

namespace touchstone::python {

class PyViewer {
 public:
  // The simulator must outlive it. Throws Error when the port is taken or the host unknown.
  PyViewer(PySimulator& simulator, const ServerOptions& options, int height);
  PyViewer(const PyViewer&) = delete;
  PyViewer& operator=(const PyViewer&) = delete;
  ~PyViewer();

  void close();  // twice does no harm
  void wait();   // until Ctrl-C or close, then closes
  bool is_open() const { return server_ != nullptr; }
  const std::string& url() const { return url_; }
  int port() const { return server_ ? server_->port() : 0; }
  std::string html() const;  // for notebooks

 private:
  std::unique_ptr<LiveSource> source_;
  std::unique_ptr<ViewerServer> server_;
  std::string url_;
  int height_;
};

// Simulator.view.
std::unique_ptr<PyViewer> make_viewer(PySimulator& simulator, const std::string& host, int port, bool token,
                                      bool paused, double speed, const nanobind::object& browser, int height);

}  // namespace touchstone::python
