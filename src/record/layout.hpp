// What a recording holds, table by table: one list of columns for the writer, the reader and the documentation. Not for
// users of the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "touchstone/model/model.hpp"
#include "touchstone/record/recording.hpp"

namespace touchstone::record {

inline constexpr int kFormatVersion = 3;
inline constexpr const char* kWorstSinceRow = "worst since the row before";  // in /meta/figures

// A data set of rows; the numbers live in a vector, row after row. Exactly one of the two vectors is used.
struct Column {
  std::string path;
  std::size_t width = 1;  // numbers in a row
  std::vector<double>* numbers = nullptr;
  std::vector<std::int32_t>* integers = nullptr;
  bool is_optional = false;  // files of old writers do not have it: zeros
};

// The columns of a table, bound to it. Rows of `steps` belong to moments, rows of `contacts` to contact points.
// `sleepers`: trees whose sleep is recorded, all or none.
std::vector<Column> step_columns(const Model& model, StepTable& table, int sleepers = 0);
std::vector<Column> contact_columns(ContactTable& table);

}  // namespace touchstone::record
