#include "bindings.hpp"
#include "touchstone/base/error.hpp"

namespace touchstone::python {

void bind_all(nb::module_& m);

// A class must be bound before a function that names it in its signature.
void bind_all(nb::module_& m) {
  bind_errors(m);
  bind_transform(m);
  bind_shapes(m);
  bind_queries(m);
  bind_elements(m);
  bind_model(m);
  bind_builder(m);
  bind_state(m);
  bind_parameters(m);
  bind_report(m);
  bind_problem(m);
  bind_solvers(m);
  bind_contacts(m);
  bind_viewer(m);
  bind_stages(m);
  bind_mechanism(m);
  bind_maximal(m);
  bind_simulator(m);
  bind_batch(m);
  bind_world_batch(m);
  bind_recording(m);
  bind_dynamics(m);
  bind_dynamics_derivatives(m);
  bind_derivatives(m);
  bind_layout(m);
  bind_load(m);
}

Guard::Guard(std::atomic<bool>& busy, const char* what) : busy_(busy) {
  if (busy_.exchange(true, std::memory_order_acquire)) {
    throw Error("this {} is in use by another thread; give each thread one of its own", what);
  }
}

namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    if (c == '&')
      html += "&amp;";
    else if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else
      html += c;
  }
  return html;
}

}  // namespace

std::string html_table(const std::string& title, const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string html = "<table><caption><b>" + escaped(title) + "</b></caption>";
  for (const auto& [name, value] : rows) {
    html += "<tr><td style=\"text-align:left\">" + escaped(name) + "</td><td style=\"text-align:left\">" +
            escaped(value) + "</td></tr>";
  }
  return html + "</table>";
}

}  // namespace touchstone::python
