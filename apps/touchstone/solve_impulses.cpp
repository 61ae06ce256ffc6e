#include "solve_impulses.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "json_text.hpp"
#include "solve_report.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/printable.hpp"

namespace touchstone::cli {
namespace {

bool is_csv(const std::string& file) { return std::filesystem::path(file).extension() == ".csv"; }

// What a row of a block is: "n" and "t1", "t2", "torsion", "roll1", "roll2" of a contact, else "1", "2", ...
std::string component(const Blocks& blocks, int block, int row) {
  static constexpr const char* kTangents[] = {"t1", "t2", "torsion", "roll1", "roll2"};
  if (blocks.type[block] != BlockType::kCoulomb) return std::to_string(row + 1);
  return row + 1 == blocks.size(block) ? "n" : kTangents[row];
}

template <typename Visit>
void for_each_row(const SolveResult& result, Visit&& visit) {
  for (int i = 0; i < result.layout.count(); ++i) {
    for (int k = 0; k < result.layout.size(i); ++k) visit(i, k, result.layout.row[i] + k);
  }
}

Json entry(const SolveResult& result) {
  Json item{{"problem", result.problem},
            {"solver", result.solver},
            {"status", status_name(result.status)},
            {"solved", result.solved},
            {"natv_relative", nullptr}};
  if (!result.certified) return item;
  item["natv_relative"] = result.residuals.natv_relative;
  Json block = Json::array(), type = Json::array(), name = Json::array();
  for_each_row(result, [&](int i, int k, int /*row*/) {
    block.push_back(i);
    type.push_back(block_type_name(result.layout.type[i]));
    name.push_back(component(result.layout, i, k));
  });
  item["block"] = std::move(block);
  item["type"] = std::move(type);
  item["component"] = std::move(name);
  item["impulse"] = numbers(result.impulses);
  item["velocity"] = numbers(result.velocities);
  item["next_velocity"] = numbers(result.next_velocity);
  return item;
}

std::string impulses_json(const SolveResults& results) {
  Json list = Json::array();
  for (const SolveResult& result : results.solved) list.push_back(entry(result));
  return Json{{"answers", std::move(list)}}.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string csv_text(const SolveResults& results) {
  std::string text = "problem,solver,status,block,type,component,impulse,velocity\n";
  for (const SolveResult& r : results.solved) {
    if (!r.certified) continue;
    const std::string begin = fmt::format("{},{},{}", csv_field(r.problem), r.solver, status_name(r.status));
    for_each_row(r, [&](int i, int k, int row) {
      text += fmt::format("{},{},{},{},{},{}\n", begin, i, block_type_name(r.layout.type[i]), component(r.layout, i, k),
                          r.impulses[row], r.velocities[row]);
    });
  }
  return text;
}

}  // namespace

void check_impulses_file(const std::string& file) {
  if (is_csv(file) || std::filesystem::path(file).extension() == ".json") return;
  throw Error({.where = {file, 0, ""},
               .message = "--impulses writes JSON or CSV",
               .remedy = "give a file whose name ends in .json or .csv"});
}

std::string impulses_text(const std::string& file, const SolveResults& results) {
  return is_csv(file) ? csv_text(results) : impulses_json(results);
}

}  // namespace touchstone::cli
