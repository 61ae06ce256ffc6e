// Line plots as SVG text. Colours come from the page's style sheet (classes series-1, series-2, ...).
#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

struct PlotSeries {
  std::string name;                   // the label in the legend
  std::vector<double> y;              // not finite, or not positive on a log axis: left out
  std::vector<double> low{}, high{};  // extremes since the point before, as long as y; empty: y itself
  std::vector<double> x{};            // as long as y, increasing; empty: Plot::x
};

// Curves that lie on each other stay visible: the first is on top and thinnest, each further one a little wider. A
// curve with more points than the picture has columns keeps the extremes of each column.
struct Plot {
  std::string title;
  std::string x_label, y_label;
  std::vector<double> x;  // increasing
  std::vector<PlotSeries> series;
  bool logarithmic = false;    // the y axis; its ticks are the numbers themselves
  bool logarithmic_x = false;  // the same for the x axis
};

std::string plot_svg(const Plot& plot);

// For text in HTML and SVG.
std::string escape_markup(const std::string& text);

}  // namespace touchstone::cli
