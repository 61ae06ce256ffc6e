// Line plots as SVG text. Colours come from the page's style sheet (classes series-1, series-2, ...).
#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

enum class LineStyle { kSolid, kDots };

struct PlotSeries {
  std::string name;       // the label in the legend
  std::vector<double> y;  // as long as Plot::x; values that are not finite are left out
  LineStyle style = LineStyle::kSolid;
};

struct Plot {
  std::string title;
  std::string x_label, y_label;
  std::vector<double> x;  // increasing
  std::vector<PlotSeries> series;
};

std::string plot_svg(const Plot& plot);

// For text in HTML and SVG.
std::string escape_markup(const std::string& text);

}  // namespace touchstone::cli
