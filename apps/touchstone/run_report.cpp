#include "run_report.hpp"

#include <cmath>

#include <fmt/format.h>

#include "commands.hpp"
#include "console.hpp"
#include "json_text.hpp"
#include "touchstone/sim/option_fields.hpp"

namespace touchstone::cli {
namespace {

std::string quantity(double value, const std::string& unit) {
  return fmt::format("{:.2g}{}{}", value, unit.empty() ? "" : " ", unit);
}

// "18 times the limit", "by 3" where nothing is allowed.
std::string excess(const CertificateItem& item) {
  if (!std::isfinite(item.value)) return "not a number";
  if (item.limit > 0.0) return fmt::format("{:.3g} times the limit", item.value / item.limit);
  return fmt::format("{:g} where none is allowed", item.value);
}

}  // namespace

std::string checks_table(const std::vector<CertificateItem>& checks) {
  Table table;
  table.add_row({styled("check", Style::kDim), styled("value", Style::kDim), styled("limit", Style::kDim)});
  std::string failures;
  for (const CertificateItem& item : checks) {
    table.add_row({item.name, quantity(item.value, item.unit), fmt::format("{:.2g}", item.limit),
                   item.passed() ? styled("ok", Style::kGood) : styled("FAILED", Style::kBad)});
    if (!item.passed())
      failures +=
          fmt::format("  {}: {}, {} ({})\n", styled("FAILED", Style::kBad), item.name, excess(item), item.meaning);
  }
  return table.text() + failures;
}

std::string failed_checks(const std::vector<CertificateItem>& checks) {
  std::string text;
  for (const CertificateItem& item : checks) {
    if (!item.passed()) text += (text.empty() ? "" : "; ") + item.name.substr(0, item.name.find(':'));
  }
  return text.empty() ? "none" : text;
}

nlohmann::ordered_json checks_json(const std::vector<CertificateItem>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CertificateItem& item : checks) {
    list.push_back({{"name", item.name},
                    {"value", item.value},
                    {"limit", item.limit},
                    {"unit", item.unit},
                    {"passed", item.passed()},
                    {"meaning", item.meaning}});
  }
  return list;
}

std::string run_json(const Scene& scene, const RunResult& result) {
  nlohmann::ordered_json options;
  for (const auto& [name, value] : option_values(result.options)) options[name] = value;
  options["time_step"] = fmt::format("{}", result.time_step);
  nlohmann::ordered_json out{{"scene", scene.name},
                             {"model", scene.model->name},
                             {"file", scene.model->file},
                             {"time_step", result.time_step},
                             {"solver", result.options.solver},
                             {"integrator", options["integrator"]},
                             {"options", options},
                             {"passed", result.passed()},
                             {"checks", checks_json(result.replay.certificate)},
                             {"interrupted", result.interrupted},
                             {"diverged", result.statistics.diverged()}};
  out.update(statistics_json(result.statistics));
  if (!result.batch_json.is_null()) out["batch"] = result.batch_json;
  out["final"] = {{"time", result.end.time},
                  {"q", numbers(result.end.q)},
                  {"v", numbers(result.end.v)},
                  {"activation", numbers(result.end.activation)}};
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

int exit_code(const RunResult& result, bool lenient) {
  if (result.interrupted) return kInterrupted;
  const bool good = lenient ? !result.statistics.diverged() : result.passed();
  return good ? kSuccess : kCheckFailed;
}

}  // namespace touchstone::cli
