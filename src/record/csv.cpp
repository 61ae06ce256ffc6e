#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "touchstone/base/output_file.hpp"
#include "touchstone/base/printable.hpp"
#include "touchstone/record/layout.hpp"

namespace touchstone {

using record::Column;

namespace {

constexpr const char* kPose[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
constexpr const char* kTwist[] = {"x", "y", "z", "wx", "wy", "wz"};

// "q:knee", "q:base.qw": the joint and the part of it that an entry of q or v is. `first` has the first entry of each
// joint; turning joints have the last parts of a pose or twist.
std::string joint_title(const Model& model, const std::string& name, const std::vector<int>& first, std::size_t k) {
  const auto next = std::upper_bound(first.begin(), first.end(), static_cast<int>(k));
  const auto j = static_cast<std::size_t>(next - first.begin() - 1);
  const Joint& joint = model.joints[j];
  const std::size_t part = k - static_cast<std::size_t>(first[j]);
  if (joint.type != JointType::kFree && joint.type != JointType::kBall) return name + ":" + joint.name;
  const std::size_t skipped = joint.type == JointType::kBall ? 3 : 0;
  return fmt::format("{}:{}.{}", name, joint.name, (name == "q" ? kPose : kTwist)[skipped + part]);
}

std::string activation_title(const Model& model, std::size_t k) {
  const auto& index = model.activation_index;
  const auto found = std::find(index.begin(), index.end(), static_cast<int>(k));
  return "activation:" + model.actuators[static_cast<std::size_t>(found - index.begin())].name;
}

// "loop_q:crank", "loop_q:shaft.1": coordinates are numbered where a joint has several.
std::string loop_title(const Model& model, int k) {
  const auto& first = model.loop_coordinate;
  const auto j = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), k) - first.begin()) - 1;
  const LoopJoint& joint = model.loop_joints[j];
  const std::string number = joint.coordinates.size() > 1 ? fmt::format(".{}", k - first[j]) : "";
  return "loop_q:" + joint.name + number;
}

// Numbers carry the name of what they belong to in the model.
std::string title(const Model& model, const Column& column, std::size_t k) {
  static constexpr const char* kStages[] = {"dynamics", "collision", "assembly", "solve", "integrate", "certify"};
  static constexpr const char* kAxes[] = {"x", "y", "z"};
  std::string name = column.path.substr(column.path.rfind('/') + 1);
  if (name == "q") return joint_title(model, name, model.joint_q, k);
  if (name == "v") return joint_title(model, name, model.joint_dof, k);
  if (name == "activation") return activation_title(model, k);
  if (name == "control") return "control:" + model.actuators[k].name;
  if (name == "loop_q") return loop_title(model, static_cast<int>(k));
  if (name == "mocap") {
    const auto body = static_cast<std::size_t>(model.mocap_body[k / 7]);
    return fmt::format("mocap:{}.{}", model.bodies[body].name, kPose[k % 7]);
  }
  if (name == "asleep") return "asleep:" + model.bodies[static_cast<std::size_t>(model.tree_root[k])].name;
  if (name == "times") return std::string("time_") + kStages[k];
  if (column.width == 1) return name;
  return name + "_" + kAxes[k];
}

// All titles of a table. A joint may be called "base.x": whatever comes second gets a number.
std::vector<std::string> titles(const Model& model, const std::vector<Column>& columns) {
  std::vector<std::string> list;
  std::unordered_set<std::string> seen;
  for (const Column& column : columns) {
    for (std::size_t k = 0; k < column.width; ++k) {
      const std::string plain = title(model, column, k);
      std::string unique = plain;
      for (int n = 2; !seen.insert(unique).second; ++n) unique = fmt::format("{}#{}", plain, n);
      list.push_back(std::move(unique));
    }
  }
  return list;
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
    for (const std::string& name : titles(model, columns)) add("," + csv_field(name));
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
  const std::vector<Column> step_columns = record::step_columns(model, steps, steps.asleep.empty() ? 0 : model.ntree);
  const std::vector<Column> contact_columns = record::contact_columns(contacts);
  make_output_folder(folder);
  CsvFile step_file(folder / "steps.csv", "row", model, step_columns);
  CsvFile contact_file(folder / "contacts.csv", "row,time,name_a,name_b", model, contact_columns);
  for (std::size_t row = 0; row < recording.rows(); ++row) {
    step_file.line(std::to_string(row), step_columns, row);
    for (std::size_t c = recording.contact_start(row); c < recording.contact_start(row + 1); ++c) {
      const auto name = [&](std::int32_t shape) {
        return csv_field(model.shapes[static_cast<std::size_t>(shape)].name);
      };
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
