#include <string_view>

#include <fmt/format.h>

#include "touchstone/base/output_file.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/record/layout.hpp"

namespace touchstone {

using record::Column;

namespace {

// "q[3]" for a column of several numbers; names of the model where numbers have some.
std::string title(const Model& model, const Column& column, std::size_t k) {
  static constexpr const char* kStages[] = {"dynamics", "collision", "assembly", "solve", "integrate", "certify"};
  static constexpr const char* kAxes[] = {"x", "y", "z"};
  std::string name = column.path.substr(column.path.rfind('/') + 1);
  if (name == "times") return std::string("time_") + kStages[k];
  if (name == "control") return "control:" + model.actuators[k].name;
  if (column.width == 1) return name;
  if (column.path.rfind("/contacts/", 0) == 0 && column.width == 3) return name + "_" + kAxes[k];
  return fmt::format("{}[{}]", name, k);
}

std::string quoted(const std::string& name) {
  const std::string text = printable(name);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

void add_cells(const std::vector<Column>& columns, std::size_t row, fmt::memory_buffer& line) {
  for (const Column& column : columns) {
    for (std::size_t k = 0; k < column.width; ++k) {
      const std::size_t i = row * column.width + k;
      line.push_back(',');
      if (column.numbers != nullptr) {
        fmt::format_to(std::back_inserter(line), "{}", (*column.numbers)[i]);
      } else {
        fmt::format_to(std::back_inserter(line), "{}", (*column.integers)[i]);
      }
    }
  }
}

class CsvFile {
 public:
  CsvFile(const std::filesystem::path& file, const std::string& first, const Model& model,
          const std::vector<Column>& columns)
      : out_(file) {
    add(first);
    for (const Column& column : columns) {
      for (std::size_t k = 0; k < column.width; ++k) add("," + quoted(title(model, column, k)));
    }
    add("\n");
  }

  void line(const std::string& first, const std::vector<Column>& columns, std::size_t row) {
    add(first);
    add_cells(columns, row, buffer_);
    add("\n");
    if (buffer_.size() >= kBuffer) flush();
  }

  void flush() {
    out_.write({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }
  void commit() {
    flush();
    out_.commit();
  }

 private:
  static constexpr std::size_t kBuffer = 1U << 16U;  // bytes

  void add(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }

  OutputFile out_;
  fmt::memory_buffer buffer_;
};

}  // namespace

void write_csv(const Recording& recording, const std::filesystem::path& folder) {
  const Model& model = *recording.model();
  StepTable steps = recording.steps();
  ContactTable contacts = recording.contacts();
  const std::vector<Column> step_columns = record::step_columns(model, steps);
  const std::vector<Column> contact_columns = record::contact_columns(contacts);
  make_output_folder(folder);
  CsvFile step_file(folder / "steps.csv", "row", model, step_columns);
  CsvFile contact_file(folder / "contacts.csv", "row,time,name_a,name_b", model, contact_columns);
  for (std::size_t row = 0; row < recording.rows(); ++row) {
    step_file.line(std::to_string(row), step_columns, row);
    for (std::size_t c = recording.contact_start(row); c < recording.contact_start(row + 1); ++c) {
      const auto name = [&](std::int32_t shape) { return quoted(model.shapes[static_cast<std::size_t>(shape)].name); };
      contact_file.line(
          fmt::format("{},{},{},{}", row, steps.time[row], name(contacts.shape_a[c]), name(contacts.shape_b[c])),
          contact_columns, c);
    }
  }
  step_file.flush();
  contact_file.flush();
  step_file.commit();
  contact_file.commit();
}

}  // namespace touchstone
