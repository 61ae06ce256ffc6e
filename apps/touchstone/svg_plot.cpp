#include "svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "touchstone/base/printable.hpp"

namespace touchstone::cli {
namespace {

constexpr double kWidth = 520.0, kHeight = 300.0;  // user units of the drawing, about pixels
constexpr double kLeft = 78.0, kRight = 22.0, kBottom = 44.0;
constexpr double kLegendTop = 34.0, kLegendLine = 17.0;  // the first line of the legend, and the next
// Stroke of the first curve, what each further adds, and what the last has more than the first at most.
constexpr double kThinnest = 1.6, kWider = 0.8, kWidest = 4.0;
constexpr double kLetter = 7.0, kLegendMark = 21.0, kGap = 16.0;  // about, in the legend

struct Tick {
  double place = 0.0;  // on the axis, which is the logarithm of a log axis
  std::string label;
};

struct Axis {
  double low = 0.0, high = 1.0;
  std::vector<Tick> ticks;
};

// As many digits as it takes to tell a tick from the next.
std::string linear_label(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (step >= 1e-3 && step < 1e5)
    return fmt::format("{:.{}f}", value, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
  const int digits = 1 + static_cast<int>(std::ceil(std::log10(std::abs(value) / step) + 1e-9));
  return fmt::format("{:.{}g}", value, std::clamp(digits, 1, 15));
}

// Ticks at 1, 2 or 5 times a power of ten; the ends are widened to ticks if `round_ends`.
Axis linear_axis(double low, double high, bool round_ends) {
  if (!(high > low)) {
    const double pad = low == 0.0 ? 1.0 : std::abs(low) * 0.1;
    low -= pad;
    high += pad;
  }
  const double rough = (high - low) / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double ratio = rough / power - 1e-9;  // a hair less, so that rounding does not skip a tick
  const double step = power * (ratio <= 1.0 ? 1.0 : ratio <= 2.0 ? 2.0 : ratio <= 5.0 ? 5.0 : 10.0);
  Axis axis{low, high, {}};
  if (round_ends) {
    axis.low = std::floor(low / step) * step;
    axis.high = std::ceil(high / step) * step;
  }
  const auto first = static_cast<long>(std::ceil(axis.low / step - 1e-9));
  const auto last = static_cast<long>(std::floor(axis.high / step + 1e-9));
  for (long k = first; k <= last; ++k) {
    const double value = static_cast<double>(k) * step;
    axis.ticks.push_back({value, linear_label(value, step)});
  }
  return axis;
}

// "0.001", "200"; a power of ten with its exponent above the line where zeros would have to be counted.
std::string log_label(int factor, int exponent, bool plain) {
  if (plain) return fmt::format("{:g}", factor * std::pow(10.0, exponent));
  constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = factor == 1 ? "10" : fmt::format("{}·10", factor);
  for (const char c : fmt::format("{}", exponent)) text += c == '-' ? "⁻" : kDigits[c - '0'];
  return text;
}

// Whole decades; where there is one alone, also 2 and 5 times its start. `low` and `high` are logarithms.
Axis log_axis(double low, double high) {
  constexpr int kMostLabels = 6, kPlainFrom = -3, kPlainTo = 5;
  const int first = static_cast<int>(std::floor(low + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(high - 1e-9)));
  const bool plain = first >= kPlainFrom && last <= kPlainTo;
  const int stride = (last - first + kMostLabels - 1) / kMostLabels;
  Axis axis{static_cast<double>(first), static_cast<double>(last), {}};
  for (int decade = first; decade <= last; decade += stride) {
    axis.ticks.push_back({static_cast<double>(decade), log_label(1, decade, plain)});
    if (last - first > 1 || decade == last) continue;
    for (const int factor : {2, 5})
      axis.ticks.push_back({decade + std::log10(factor), log_label(factor, decade, plain)});
  }
  return axis;
}

// A log axis shows logarithms; what has none is not drawn.
double on_axis(double y, bool logarithmic) {
  if (!logarithmic) return y;
  return y > 0.0 ? std::log10(y) : std::numeric_limits<double>::quiet_NaN();
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
};

class Canvas {
 public:
  Canvas(Axis x, Axis y, double top) : x_(std::move(x)), y_(std::move(y)), top_(top) {}

  double px(double x) const { return kLeft + (x - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight); }
  double py(double y) const {
    return kHeight - kBottom - (y - y_.low) / (y_.high - y_.low) * (kHeight - top_ - kBottom);
  }

  std::string frame() const {
    std::string out;
    for (const Tick& tick : y_.ticks) {
      const double y = py(tick.place);
      out += fmt::format("<line class='grid' x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}'/>", kLeft, kWidth - kRight,
                         y, y);
      out += fmt::format("<text class='tick' text-anchor='end' x='{:.1f}' y='{:.1f}'>{}</text>", kLeft - 7, y + 4,
                         tick.label);
    }
    for (const Tick& tick : x_.ticks) {
      out += fmt::format("<text class='tick' text-anchor='middle' x='{:.1f}' y='{:.1f}'>{}</text>", px(tick.place),
                         kHeight - kBottom + 18, tick.label);
    }
    return out;
  }

 private:
  Axis x_, y_;
  double top_;
};

// What a curve does within one column of the picture: it goes through the extremes to the last value.
class Pen {
 public:
  explicit Pen(const Canvas& canvas) : canvas_(canvas) {}

  void point(double x, double low, double high, double y) {
    const double here = std::round(canvas_.px(x));
    if (here != column_) finish_column();
    column_ = here;
    range_.add(low);
    range_.add(high);
    range_.add(y);
    last_ = y;
  }

  std::string path() {
    finish_column();
    return path_;
  }

 private:
  void finish_column() {
    if (!range_.empty()) {
      if (range_.low < range_.high) {
        draw(range_.low);
        draw(range_.high);
      }
      if (std::isfinite(last_)) draw(last_);
    }
    drawing_ = drawing_ && std::isfinite(last_);
    range_ = {};
  }
  void draw(double y) {
    path_ += fmt::format("{}{:.1f} {:.1f}", drawing_ ? "L" : "M", column_, canvas_.py(y));
    drawing_ = true;
  }

  const Canvas& canvas_;
  std::string path_;
  bool drawing_ = false;
  double column_ = -1.0, last_ = std::numeric_limits<double>::quiet_NaN();
  Range range_;
};

double low_of(const PlotSeries& series, std::size_t i) { return series.low.empty() ? series.y[i] : series.low[i]; }
double high_of(const PlotSeries& series, std::size_t i) { return series.high.empty() ? series.y[i] : series.high[i]; }

const std::vector<double>& x_of(const Plot& plot, const PlotSeries& series) {
  return series.x.empty() ? plot.x : series.x;
}

std::string curve(const Canvas& canvas, const Plot& plot, const PlotSeries& series) {
  Pen pen(canvas);
  const std::vector<double>& x = x_of(plot, series);
  const bool logarithmic = plot.logarithmic;
  for (std::size_t i = 0; i < std::min(x.size(), series.y.size()); ++i) {
    pen.point(on_axis(x[i], plot.logarithmic_x), on_axis(low_of(series, i), logarithmic),
              on_axis(high_of(series, i), logarithmic), on_axis(series.y[i], logarithmic));
  }
  return pen.path();
}

double stroke(std::size_t series, std::size_t count) {
  const double step = count > 1 ? std::min(kWider, kWidest / static_cast<double>(count - 1)) : 0.0;
  return kThinnest + step * static_cast<double>(series);
}

// Names in lines that are as long as the picture is wide; `bottom` is where the last one stands.
std::string legend(const Plot& plot, double& bottom) {
  std::string out;
  double x = kLeft, y = kLegendTop;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const std::string& name = plot.series[s].name;
    const double width = kLegendMark + kLetter * static_cast<double>(name.size());
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      y += kLegendLine;
    }
    out += fmt::format(
        "<g class='series-{}'><path stroke-width='{:.1f}' d='M{:.1f} {:.1f}h16'/></g>"
        "<text class='tick' x='{:.1f}' y='{:.1f}'>{}</text>",
        s + 1, stroke(s, plot.series.size()), x, y, x + kLegendMark, y + 4, escape_markup(name));
    x += width + kGap;
  }
  bottom = y;
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
  Range x, y;
  for (const PlotSeries& series : plot.series) {
    for (const double place : x_of(plot, series)) x.add(on_axis(place, plot.logarithmic_x));
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      for (const double value : {low_of(series, i), high_of(series, i), series.y[i]})
        y.add(on_axis(value, plot.logarithmic));
    }
  }
  if (x.empty()) x = {0.0, 1.0};
  if (y.empty()) y = {0.0, plot.logarithmic ? 1.0 : 0.0};
  double bottom = kLegendTop - kLegendLine;
  const std::string names = plot.series.size() > 1 ? legend(plot, bottom) : std::string();
  const Canvas canvas(plot.logarithmic_x ? log_axis(x.low, x.high) : linear_axis(x.low, x.high, false),
                      plot.logarithmic ? log_axis(y.low, y.high) : linear_axis(y.low, y.high, true), bottom + 14.0);

  std::string out =
      fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>", kWidth, kHeight, escape_markup(plot.title));
  out += fmt::format("<text class='title' x='{}' y='16'>{}</text>", kLeft, escape_markup(plot.title));
  out += names + canvas.frame();
  for (std::size_t s = plot.series.size(); s-- > 0;) {
    out += fmt::format("<g class='series-{}'><path stroke-width='{:.1f}' d='{}'/></g>", s + 1,
                       stroke(s, plot.series.size()), curve(canvas, plot, plot.series[s]));
  }
  out += fmt::format("<text class='label' text-anchor='middle' x='{:.1f}' y='{:.1f}'>{}</text>",
                     (kLeft + kWidth - kRight) / 2.0, kHeight - 6, escape_markup(plot.x_label));
  out += fmt::format("<text class='label' text-anchor='middle' transform='translate(13 {:.1f}) rotate(-90)'>{}</text>",
                     (bottom + 14.0 + kHeight - kBottom) / 2.0, escape_markup(plot.y_label));
  return out + "</svg>";
}

}  // namespace touchstone::cli
