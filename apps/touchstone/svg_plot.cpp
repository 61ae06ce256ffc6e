#include "svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/core.h>

#include "touchstone/base/printable.hpp"

namespace touchstone::cli {
namespace {

constexpr double kWidth = 520.0, kHeight = 300.0;  // user units of the drawing
constexpr double kLeft = 66.0, kRight = 14.0, kTop = 46.0, kBottom = 44.0;
constexpr std::size_t kMostPoints = 400;  // of a curve; more cannot be seen
constexpr std::size_t kDots = 21;

struct Axis {
  double low = 0.0, high = 1.0, tick = 0.2;
};

// Ticks at 1, 2 or 5 times a power of ten; the ends are widened to ticks if `round_ends`.
Axis make_axis(double low, double high, bool round_ends) {
  if (!(high > low)) {
    const double pad = low == 0.0 ? 1.0 : std::abs(low) * 0.1;
    low -= pad;
    high += pad;
  }
  const double rough = (high - low) / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double ratio = rough / power - 1e-9;  // a hair less, so that rounding does not skip a tick
  Axis axis{low, high, power * (ratio <= 1.0 ? 1.0 : ratio <= 2.0 ? 2.0 : ratio <= 5.0 ? 5.0 : 10.0)};
  if (round_ends) {
    axis.low = std::floor(low / axis.tick) * axis.tick;
    axis.high = std::ceil(high / axis.tick) * axis.tick;
  }
  return axis;
}

std::string tick_label(double value, double tick) {
  if (std::abs(value) < tick * 1e-6) return "0";
  if (tick < 1e-3 || tick >= 1e5) return fmt::format("{:.4g}", value);
  return fmt::format("{:.{}f}", value, std::max(0, static_cast<int>(std::ceil(-std::log10(tick) - 1e-9))));
}

class Canvas {
 public:
  Canvas(Axis x, Axis y) : x_(x), y_(y) {}

  double px(double x) const { return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight); }
  double py(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }

  std::string frame() const {
    std::string out;
    for (double y = std::ceil(y_.low / y_.tick - 1e-9) * y_.tick; y <= y_.high + 1e-9 * y_.tick; y += y_.tick) {
      out += fmt::format("<line class='grid' x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}'/>", kLeft, kWidth - kRight,
                         py(y), py(y));
      out += fmt::format("<text class='tick' text-anchor='end' x='{:.1f}' y='{:.1f}'>{}</text>", kLeft - 7, py(y) + 4,
                         tick_label(y, y_.tick));
    }
    for (double x = std::ceil(x_.low / x_.tick - 1e-9) * x_.tick; x <= x_.high + 1e-9 * x_.tick; x += x_.tick) {
      out += fmt::format("<text class='tick' text-anchor='middle' x='{:.1f}' y='{:.1f}'>{}</text>", px(x),
                         kHeight - kBottom + 18, tick_label(x, x_.tick));
    }
    return out;
  }

 private:
  Axis x_, y_;
};

std::string curve(const Canvas& canvas, const Plot& plot, const PlotSeries& series) {
  const std::size_t count = std::min(plot.x.size(), series.y.size());
  const std::size_t stride = std::max<std::size_t>(1, count / kMostPoints);
  std::string path;
  bool drawing = false;
  for (std::size_t i = 0; i < count; i += (i + stride < count || i + 1 == count) ? stride : count - 1 - i) {
    if (!std::isfinite(series.y[i])) {
      drawing = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", canvas.px(plot.x[i]), canvas.py(series.y[i]));
    drawing = true;
  }
  return fmt::format("<path d='{}'/>", path);
}

std::string dots(const Canvas& canvas, const Plot& plot, const PlotSeries& series) {
  const std::size_t count = std::min(plot.x.size(), series.y.size());
  std::string out;
  for (std::size_t k = 0; count > 0 && k < kDots; ++k) {
    const std::size_t i = k * (count - 1) / (kDots - 1);
    if (!std::isfinite(series.y[i])) continue;
    out += fmt::format("<circle r='3.2' cx='{:.1f}' cy='{:.1f}'/>", canvas.px(plot.x[i]), canvas.py(series.y[i]));
  }
  return out;
}

std::string legend(const Plot& plot) {
  std::string out;
  double x = kLeft;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const PlotSeries& series = plot.series[s];
    const std::string mark = series.style == LineStyle::kDots
                                 ? fmt::format("<circle r='3.2' cx='{:.1f}' cy='34'/>", x + 8)
                                 : fmt::format("<path d='M{:.1f} 34h16'/>", x);
    out += fmt::format("<g class='series-{}'>{}</g><text class='tick' x='{:.1f}' y='38'>{}</text>", s + 1, mark, x + 21,
                       escape_markup(series.name));
    x += 21.0 + 6.4 * static_cast<double>(series.name.size()) + 18.0;
  }
  return out;
}

}  // namespace

std::string escape_markup(const std::string& text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string plot_svg(const Plot& plot) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const PlotSeries& series : plot.series) {
    for (const double y : series.y) {
      if (!std::isfinite(y)) continue;
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  if (!(low <= high)) low = high = 0.0;
  const double x_low = plot.x.empty() ? 0.0 : plot.x.front(), x_high = plot.x.empty() ? 1.0 : plot.x.back();
  const Canvas canvas(make_axis(x_low, x_high, false), make_axis(low, high, true));

  std::string out =
      fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>", kWidth, kHeight, escape_markup(plot.title));
  out += fmt::format("<text class='title' x='{}' y='16'>{}</text>", kLeft, escape_markup(plot.title));
  if (plot.series.size() > 1) out += legend(plot);
  out += canvas.frame();
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const PlotSeries& series = plot.series[s];
    out += fmt::format("<g class='series-{}'>{}</g>", s + 1,
                       series.style == LineStyle::kDots ? dots(canvas, plot, series) : curve(canvas, plot, series));
  }
  out += fmt::format("<text class='label' text-anchor='middle' x='{:.1f}' y='{:.1f}'>{}</text>",
                     (kLeft + kWidth - kRight) / 2.0, kHeight - 6, escape_markup(plot.x_label));
  out += fmt::format("<text class='label' text-anchor='middle' transform='translate(13 {:.1f}) rotate(-90)'>{}</text>",
                     (kTop + kHeight - kBottom) / 2.0, escape_markup(plot.y_label));
  return out + "</svg>";
}

}  // namespace touchstone::cli
