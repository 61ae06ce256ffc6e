#include "demo_report.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/core.h>

#include "html_page.hpp"
#include "svg_plot.hpp"
#include "svg_robot.hpp"

namespace touchstone::cli {
namespace {

template <typename Function>
std::vector<double> series(const FreeFall& flight, Function value) {
  std::vector<double> out;
  out.reserve(flight.samples.size());
  std::transform(flight.samples.begin(), flight.samples.end(), std::back_inserter(out), value);
  return out;
}

std::string figure(const std::string& svg) { return fmt::format("<div class='card'>{}</div>\n", svg); }

std::string picture(const Model& model, const FreeFall& flight) {
  RobotPicture robots;
  robots.configurations = flight.snapshots;
  for (const FreeFallSample& sample : flight.samples) robots.path.push_back(sample.com_expected);
  return figure(robot_svg(model, robots));
}

std::string certificate(const FreeFall& flight) {
  std::string rows;
  for (const Check& check : flight.checks) {
    rows += fmt::format(
        "<tr><td>{}</td><td class='how'>{}</td><td class='number'>{:.1e}{}{}</td><td class='number'>{:.0e}</td>"
        "<td class='{}'>{}</td></tr>\n",
        escape_markup(check.name), escape_markup(check.meaning), check.value, check.unit.empty() ? "" : " ", check.unit,
        check.limit, check.passed() ? "good" : "bad", check.passed() ? "ok" : "failed");
  }
  return "<div class='card'><table><tr><th>check</th><th class='how'>measured as</th><th class='number'>value</th>"
         "<th class='number'>limit</th><th></th></tr>\n" +
         rows + "</table></div>\n";
}

std::string plots(const FreeFall& flight) {
  const std::vector<double> time = series(flight, [](const FreeFallSample& s) { return s.time; });
  const double start = flight.samples.front().energy();
  const Plot energy{"Energy",
                    "time (s)",
                    "energy (J)",
                    time,
                    {{"kinetic", series(flight, [](const auto& s) { return s.kinetic_energy; })},
                     {"potential", series(flight, [](const auto& s) { return s.potential_energy; })},
                     {"total", series(flight, [](const auto& s) { return s.energy(); })}}};
  const Plot height{
      "Height of the centre of mass",
      "time (s)",
      "height (m)",
      time,
      {{"simulated", series(flight, [](const auto& s) { return s.com.z(); })},
       {"closed form", series(flight, [](const auto& s) { return s.com_expected.z(); }), LineStyle::kDots}}};
  const Plot drift{"Drift of the total energy",
                   "time (s)",
                   "energy - initial energy (J)",
                   time,
                   {{"drift", series(flight, [start](const auto& s) { return s.energy() - start; })}}};
  const Plot error{"Distance of the centre of mass from the parabola",
                   "time (s)",
                   "distance (m)",
                   time,
                   {{"distance", series(flight, [](const auto& s) { return (s.com - s.com_expected).norm(); })}}};
  std::string out;
  for (const Plot& plot : {energy, height, drift, error}) out += figure(plot_svg(plot));
  return "<div class='plots'>" + out + "</div>\n";
}

std::string page(const Model& model, const FreeFall& flight) {
  std::string out = page_begin("Touchstone demo");
  out += fmt::format(
      "<h1>A {} in free fall</h1>\n<p class='lead'>{} bodies, {} degrees of freedom, {:.2f} kg. {} steps of {:.3g} ms, "
      "Runge-Kutta of fourth order on the configuration manifold.</p>\n",
      escape_markup(model.name), model.nbody - 1, model.nv, model.total_mass(), flight.samples.size() - 1,
      1e3 * flight.step);
  out += picture(model, flight);
  out +=
      "<h2>Certificate</h2>\n<p>The robot is tossed, spinning, with every joint moving. Joint damping, dry friction, "
      "joint limits and servos are off, so nothing but gravity acts. Physics then says exactly what energy, momentum "
      "and the centre of mass must do.</p>\n";
  out += certificate(flight);
  out += "<h2>Over time</h2>\n" + plots(flight);
  out += page_end("touchstone demo");
  return out;
}

}  // namespace

void write_demo_report(const std::filesystem::path& file, const Model& model, const FreeFall& flight) {
  write_page(file, page(model, flight), "--out");
}

}  // namespace touchstone::cli
