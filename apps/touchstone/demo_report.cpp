#include "demo_report.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/core.h>

#include "svg_plot.hpp"
#include "svg_robot.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/version.hpp"

namespace touchstone::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfaf8; --card: #ffffff; --ink: #22252a; --soft: #676c75; --line: #e4e1da;
  --one: #1d6fb8; --two: #c8700f; --three: #33373d; --good: #1d7a46; --bad: #b3261e;
  --edge: #2a2d31; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --card: #1e2125; --ink: #e8e6e1; --soft: #9ba0a8;
  --line: #32363c; --one: #6db3f2; --two: #f0a24a; --three: #d6d9de; --good: #5fce8e; --bad: #ff8a80;
  --edge: #a9aeb6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 56px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; letter-spacing: -0.01em; }
h2 { font-size: 18px; margin: 36px 0 12px; }
p { margin: 0 0 12px; max-width: 78ch; }
.lead, footer { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 16px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--soft); }
svg .title { font-size: 14px; font-weight: 600; fill: var(--ink); }
svg .grid { stroke: var(--line); }
svg g path { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.series-1 path { stroke: var(--one); } .series-2 path { stroke: var(--two); } .series-3 path { stroke: var(--three); }
.series-1 circle { fill: var(--one); } .series-2 circle { fill: var(--two); } .series-3 circle { fill: var(--three); }
.robot { max-height: 560px; }
.robot > path, .robot > circle { stroke: var(--edge); stroke-width: 0.5; stroke-linejoin: round; }
.robot > line { stroke-linecap: round; } .robot > .edge { stroke: var(--edge); }
.robot > .path { fill: none; stroke: var(--soft); stroke-width: 1.4; stroke-dasharray: 5 5; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 14px; }
th, td { padding: 8px 12px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
td.number { text-align: right; white-space: nowrap; } th.number { text-align: right; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
footer { margin-top: 32px; font-size: 14px; }
@media (max-width: 640px) { td.how, th.how { display: none; } }
)";

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
  std::string out = fmt::format(
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>Touchstone demo</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      kStyle);
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
  out += fmt::format(
      "<footer>Made by the command &quot;touchstone demo&quot;, version {}.</footer>\n</main>\n</body>\n</html>\n",
      kVersion);
  return out;
}

}  // namespace

void write_demo_report(const std::filesystem::path& file, const Model& model, const FreeFall& flight) {
  std::error_code problem;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), problem);
  std::ofstream stream(file, std::ios::binary);
  stream << page(model, flight);
  stream.close();
  if (!stream) {
    throw InputError(ErrorDetail{.where = {.file = file.string()},
                                 .message = "cannot write the report",
                                 .remedy = "choose another file with --out"});
  }
}

}  // namespace touchstone::cli
