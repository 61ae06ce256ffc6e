// The tables of the page of the suite `loops`, each with its heading and what it means.
#pragma once

#include <string>

#include "bench_loops_figures.hpp"

namespace touchstone::cli {

// "-" for what is not finite.
std::string figure_text(double value, int digits);
std::string scientific_text(double value);
std::string percent_text(double share);
std::string short_name(const std::string& scene);

std::string disagreements_section(const Json& figures);
std::string samples_section(const Json& figures, const SampleRows& samples);
std::string robustness_section(const SampleRows& samples);
std::string accuracy_section(const SampleRows& samples);
std::string speed_section(const SampleRows& samples);
std::string steadiness_section(const SampleRows& samples);
std::string errors_section(const Json& figures);
// Empty without figures of other engines (bench/loops/run.py adds them).
std::string peers_section(const Json& figures);

}  // namespace touchstone::cli
