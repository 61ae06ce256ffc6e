#include "touchstone/record/recording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>

#include "touchstone/base/error.hpp"
#include "touchstone/base/input_file.hpp"
#include "touchstone/base/memory.hpp"
#include "touchstone/io/fclib/hdf5.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/record/layout.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/sleep.hpp"

namespace touchstone {

using hdf5::Handle;
using record::Column;

namespace {

constexpr std::size_t kMaxCompression = 1100;  // deflate and shuffle cannot do better
constexpr unsigned kReadAttempts = 10;         // of metadata that another process may be writing

}  // namespace

// An open recording.
class RecordingFile {
 public:
  explicit RecordingFile(const std::filesystem::path& path) : name_(path.string()) {
    require_readable(path, file_kind::kRecording);
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_metadata_read_attempts(access.get(), kReadAttempts);
    // As a reader beside a writer: only so a file whose writer was killed opens.
    file_ = Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get()), H5Fclose);
    if (!file_) open_cut();
    if (!file_) fail(is_hdf5_file(path) ? "the recording is damaged: HDF5 cannot open it" : "it is not a recording");
    if (text("/meta/format") != "touchstone-recording")
      fail("it is not a recording of Touchstone, or damaged: /meta/format does not say so");
    if (text("/meta/format_version") != std::to_string(record::kFormatVersion)) {
      throw InputError({.where = {name_, 0, {}},
                        .message = fmt::format("it has format {}, this version reads {}", text("/meta/format_version"),
                                               record::kFormatVersion),
                        .remedy = "use the version that wrote it: " + text("/meta/program")});
    }
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(
        {.where = {name_, 0, {}},
         .message = message,
         .remedy = "give a file written by 'touchstone run --record'; this one may be cut off or damaged"});
  }

  // How the file is shorter than it says; empty if it is not.
  const std::string& cut() const { return cut_; }

  std::string text(const std::string& path) const {
    const Handle set = hdf5::open_dataset(file_.get(), path);
    const Handle type(set ? H5Dget_type(set.get()) : H5I_INVALID_HID, H5Tclose);
    if (!type || H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0) return {};
    std::string value(std::min<std::size_t>(H5Tget_size(type.get()), 1U << 20U), '\0');
    if (value.size() != H5Tget_size(type.get()) ||
        H5Dread(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
      return {};
    value.resize(std::min(value.size(), value.find('\0')));
    return value;
  }

  double number(const std::string& path) const {
    const std::string value = text(path);
    double x = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(x))
      fail("the recording is damaged: " + path + " is no number");
    return x;
  }

  std::string bytes(const std::string& path) const {
    const Handle set = hdf5::open_dataset(file_.get(), path);
    std::string value(length(set), '\0');
    if (value.empty() || H5Dread(set.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
      fail("the recording is damaged: " + path + " cannot be read");
    return value;
  }

  template <typename Integer, std::size_t N>
  std::array<Integer, N> integers(const std::string& path, hid_t memory_type) const {
    const Handle set = hdf5::open_dataset(file_.get(), path);
    std::array<Integer, N> value{};
    if (length(set) != N || H5Dread(set.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
      fail("the recording is damaged: " + path + " cannot be read");
    return value;
  }

  // Bytes that `rows` rows of a column take in memory, or as many as the file has.
  double memory(const Column& column, std::size_t rows) const {
    if (column.width == 0) return 0.0;
    const std::size_t entries = length(hdf5::open_dataset(file_.get(), column.path));
    const std::size_t size = column.numbers != nullptr ? sizeof(double) : sizeof(std::int32_t);
    return static_cast<double>(size) *
           std::min(static_cast<double>(entries), static_cast<double>(rows) * static_cast<double>(column.width));
  }

  // Up to `rows` rows; fewer if the file ends or is damaged. Returns their number.
  std::size_t read(const Column& column, std::size_t rows) const {
    if (column.width == 0) return rows;
    const Handle set = hdf5::open_dataset(file_.get(), column.path);
    if (!set && column.is_optional) {
      fill(column, rows);
      return rows;
    }
    rows = std::min(rows, length(set) / column.width);
    if (!has_type(set, column)) rows = 0;
    if (read_rows(set, column, rows)) return rows;
    std::size_t good = 0, bad = rows;  // the first `good` rows can be read, `bad` rows cannot
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      (read_rows(set, column, middle) ? good : bad) = middle;
    }
    read_rows(set, column, good);
    return good;
  }

 private:
  // HDF5 refuses a file that is shorter than its first block says. Read into memory and filled up with zeros it opens;
  // checksums tell what is missing.
  void open_cut() {
    constexpr std::size_t kEndOffset = 28, kLargest = std::size_t{1} << 32U;
    constexpr std::size_t kMostAdded = 64;  // times its size: a file that claims far more was not cut, but made up
    constexpr std::size_t kSmall = std::size_t{16} << 20U;
    std::error_code problem;
    if (!is_hdf5_file(name_) || std::filesystem::file_size(name_, problem) > kLargest || problem) return;
    std::string bytes = read_file(name_, file_kind::kRecording);
    std::uint64_t end = 0;
    if (bytes.size() < kEndOffset + sizeof end) return;
    std::memcpy(&end, bytes.data() + kEndOffset, sizeof end);
    if (end <= bytes.size() || end > std::min(kLargest, kSmall + kMostAdded * bytes.size())) return;
    cut_ = fmt::format("the file has {} of {} bytes", bytes.size(), end);
    bytes.resize(end, '\0');
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    constexpr std::size_t kIncrement = 1U << 16U;
    if (H5Pset_fapl_core(access.get(), kIncrement, 0) < 0 ||
        H5Pset_file_image(access.get(), bytes.data(), bytes.size()) < 0)
      return;
    file_ = Handle(H5Fopen("touchstone-recording-in-memory", H5F_ACC_RDONLY, access.get()), H5Fclose);
  }

  // Entries of a data set; 0 if it cannot be right.
  std::size_t length(const Handle& set) const {
    if (!set) return 0;
    const Handle space(H5Dget_space(set.get()), H5Sclose);
    const Handle type(H5Dget_type(set.get()), H5Tclose);
    const hssize_t points = space ? H5Sget_simple_extent_npoints(space.get()) : 0;
    std::error_code problem;
    const auto size = std::filesystem::file_size(name_, problem);
    if (points <= 0 || problem || !type) return 0;
    const auto count = static_cast<std::size_t>(points);
    // Where the file is cut, the list of what is stored may be too.
    const std::size_t stored = cut_.empty() ? std::min<std::size_t>(size, H5Dget_storage_size(set.get())) : size;
    return count / kMaxCompression > stored / H5Tget_size(type.get()) ? 0 : count;
  }

  // HDF5 would convert between any kinds of numbers.
  static bool has_type(const Handle& set, const Column& column) {
    if (!set) return false;
    const Handle type(H5Dget_type(set.get()), H5Tclose);
    const bool numbers = column.numbers != nullptr;
    return type && H5Tequal(type.get(), numbers ? H5T_IEEE_F64LE : H5T_STD_I32LE) > 0;
  }

  static void fill(const Column& column, std::size_t rows) {
    if (column.numbers != nullptr) {
      column.numbers->resize(rows * column.width);
    } else {
      column.integers->resize(rows * column.width);
    }
  }

  static bool read_rows(const Handle& set, const Column& column, std::size_t rows) {
    const bool numbers = column.numbers != nullptr;
    fill(column, rows);
    if (rows == 0) return true;
    const std::array<hsize_t, 2> start{0, 0}, count{rows, column.width};
    const Handle in_file(H5Dget_space(set.get()), H5Sclose),
        in_memory(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
    if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0)
      return false;
    void* data = numbers ? static_cast<void*>(column.numbers->data()) : column.integers->data();
    return H5Dread(set.get(), numbers ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32, in_memory.get(), in_file.get(),
                   H5P_DEFAULT, data) >= 0;
  }

  hdf5::Silence silence_;
  std::string name_;
  std::string cut_;
  Handle file_;
};

namespace {

constexpr double kShareOfMemory = 0.8;  // of what is free, that a recording may take

SimulatorOptions parse_options(const std::string& text) {
  SimulatorOptions options;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) set_option(options, line);
  return options;
}

void cut(const std::vector<Column>& columns, std::size_t rows) {
  for (const Column& column : columns) {
    if (column.numbers != nullptr) column.numbers->resize(rows * column.width);
    if (column.integers != nullptr) column.integers->resize(rows * column.width);
  }
}

// Reads the columns of a table and cuts all of them to the shortest; says which that is.
std::size_t read_table(const RecordingFile& file, const std::vector<Column>& columns, std::size_t rows,
                       std::string& damage) {
  const std::size_t claimed = rows;
  for (const Column& column : columns) {
    const std::size_t whole = file.read(column, rows);
    if (whole < rows) {
      const std::string place = fmt::format("{} can be read up to row {} of {}", column.path, whole, claimed);
      damage = file.cut().empty() ? place : file.cut() + ", " + place;
    }
    rows = std::min(rows, whole);
  }
  cut(columns, rows);
  return rows;
}

void require_memory(const RecordingFile& file, const std::vector<Column>& columns, std::size_t rows, double& total) {
  for (const Column& column : columns) total += file.memory(column, rows);
  const auto available = static_cast<double>(available_memory());
  if (total < kShareOfMemory * available) return;
  file.fail(
      fmt::format("what it holds needs {} of memory, and there are {}", memory_text(total), memory_text(available)));
}

// Looks at the rows one by one, in their order.
class RowCheck {
 public:
  RowCheck(const Model& model, StepTable& steps, ContactTable& contacts)
      : model_(model), steps_(steps), contacts_(contacts) {
    // Reports may be infinite where a step failed; states are not, for a step that diverges is taken back.
    for (const Column& column : record::step_columns(model, steps)) {
      for (const char* path :
           {"/steps/time", "/steps/q", "/steps/v", "/steps/activation", "/steps/loop_q", "/steps/mocap"}) {
        if (column.path == path) state_columns_.push_back(column);
      }
    }
    for (const Column& column : record::contact_columns(contacts)) {
      if (column.numbers != nullptr) contact_columns_.push_back(column);
    }
  }

  // What is wrong with a row whose contacts begin at `start`; empty if nothing is.
  std::string problem(std::size_t row, std::size_t start) const {
    const std::int32_t count = steps_.contacts[row];
    if (count < 0 || start + static_cast<std::size_t>(count) > contacts_.rows())
      return fmt::format("/steps/contacts says {} in row {}, and /contacts has {} from there", count, row,
                         contacts_.rows() - start);
    for (const Column& column : state_columns_) {
      if (std::string text = not_finite(column, row); !text.empty()) return text;
    }
    const bool diverged = steps_.status[row] == static_cast<std::int32_t>(StepStatus::kDiverged);
    for (std::size_t c = start; c < start + static_cast<std::size_t>(count); ++c) {
      for (const std::int32_t shape : {contacts_.shape_a[c], contacts_.shape_b[c]}) {
        if (shape < 0 || shape >= model_.nshape)
          return fmt::format("contact {} in row {} names shape {}, and the model has {}", c, row, shape, model_.nshape);
      }
      for (const Column& column : contact_columns_) {
        if (std::string text = not_finite(column, c); !text.empty() && !diverged) return text;
      }
    }
    return {};
  }

 private:
  static std::string not_finite(const Column& column, std::size_t row) {
    for (std::size_t i = row * column.width; i < (row + 1) * column.width; ++i) {
      if (!std::isfinite((*column.numbers)[i]))
        return fmt::format("{} is {} in row {}", column.path, (*column.numbers)[i], row);
    }
    return {};
  }

  const Model& model_;
  const StepTable& steps_;
  const ContactTable& contacts_;
  std::vector<Column> state_columns_, contact_columns_;
};

}  // namespace

Recording::Recording(const std::filesystem::path& path) {
  const RecordingFile file(path);
  read_meta(file);
  damage_ = file.cut();
  const auto counts = file.integers<std::int64_t, 2>("/meta/rows", H5T_NATIVE_INT64);
  if (counts[0] < 0 || counts[1] < 0)
    file.fail(fmt::format("the recording is damaged: /meta/rows says {} and {}", counts[0], counts[1]));
  const auto claimed_rows = static_cast<std::size_t>(counts[0]), claimed_points = static_cast<std::size_t>(counts[1]);
  const int sleepers = may_sleep(*model_, options_) ? model_->ntree : 0;
  const std::vector<Column> step_columns = record::step_columns(*model_, steps_, sleepers);
  const std::vector<Column> contact_columns = record::contact_columns(contacts_);
  double bytes = 0.0;
  require_memory(file, step_columns, claimed_rows, bytes);
  require_memory(file, contact_columns, claimed_points, bytes);
  std::size_t rows = read_table(file, step_columns, claimed_rows, damage_);
  read_table(file, contact_columns, claimed_points, damage_);

  const RowCheck check(*model_, steps_, contacts_);
  contact_start_.assign(1, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    std::string problem = check.problem(row, contact_start_.back());
    if (!problem.empty()) {
      if (damage_.empty()) damage_ = std::move(problem);
      rows = row;
      break;
    }
    contact_start_.push_back(contact_start_.back() + static_cast<std::size_t>(steps_.contacts[row]));
  }
  if (damage_.empty() && contact_start_.back() != contacts_.rows()) {
    damage_ = fmt::format("/steps/contacts counts {} contacts, and /contacts has {}", contact_start_.back(),
                          contacts_.rows());
  }
  cut(step_columns, rows);
  cut(contact_columns, contact_start_.back());
  complete_ = complete_ && damage_.empty();
}

void Recording::read_meta(const RecordingFile& file) {
  scene_ = file.text("/meta/scene");
  version_ = file.text("/meta/program");
  time_step_ = file.number("/meta/time_step");
  every_ = static_cast<int>(std::clamp(file.number("/meta/every"), 1.0, 1e9));
  covers_all_steps_ = every_ == 1 || file.text("/meta/figures") == record::kWorstSinceRow;
  complete_ = file.integers<std::int32_t, 1>("/meta/complete", H5T_NATIVE_INT32)[0] == 1;
  try {
    options_ = parse_options(file.text("/meta/options"));
    model_ = deserialize_model(file.bytes("/model/data"));
  } catch (const InputError& error) {
    if (!error.where().file.empty()) throw;
    file.fail("the recording is damaged: " + error.message());
  } catch (const Error& error) {
    file.fail("the recording is damaged: " + error.message());
  }
}

State Recording::state(std::size_t row) const {
  if (row >= rows()) throw Error("row {} of a recording with {}", row, rows());
  const auto part = [row](const std::vector<double>& column, int width) {
    return VectorX(Eigen::Map<const VectorX>(column.data() + row * static_cast<std::size_t>(width), width));
  };
  State state(*model_);
  state.time = steps_.time[row];
  state.q = part(steps_.q, model_->nq);
  state.v = part(steps_.v, model_->nv);
  state.activation = part(steps_.activation, model_->na);
  state.loop_q = part(steps_.loop_q, model_->nloop);
  const VectorX mocap = part(steps_.mocap, 7 * model_->nmocap);
  for (int i = 0; i < model_->nmocap; ++i) {
    Transform& X = state.mocap[static_cast<std::size_t>(i)];
    X.position = mocap.segment<3>(7 * i);
    X.rotation = Quaternion(mocap[7 * i + 3], mocap[7 * i + 4], mocap[7 * i + 5], mocap[7 * i + 6]);
  }
  return state;
}

VectorX Recording::control(std::size_t row) const {
  if (row >= rows()) throw Error("row {} of a recording with {}", row, rows());
  return Eigen::Map<const VectorX>(steps_.control.data() + row * static_cast<std::size_t>(model_->nu), model_->nu);
}

StepReport Recording::report(std::size_t row) const {
  if (row >= rows()) throw Error("row {} of a recording with {}", row, rows());
  StepReport r;
  r.status = static_cast<StepStatus>(std::clamp(steps_.status[row], 0, 3));
  r.time = steps_.time[row];
  r.contacts = steps_.contacts[row];
  r.constraints = steps_.constraints[row];
  r.islands = steps_.islands[row];
  r.iterations = steps_.iterations[row];
  r.newton = steps_.newton[row];
  r.events.events = steps_.events[row];
  r.events.impacts = steps_.impacts[row];
  r.events.rejected = steps_.rejected[row];
  r.events.fallbacks = steps_.fallbacks[row];
  r.events.last = steps_.last_event[row];
  r.residuals.natv = steps_.natv[row];
  r.residuals.natv_relative = steps_.natv_relative[row];
  r.residuals.law_natv = steps_.law_natv[row];
  r.residuals.law_natv_relative = steps_.law_natv_relative[row];
  r.penetration = steps_.penetration[row];
  r.violation = steps_.violation[row];
  for (int b = 1; b < model_->nbody; ++b) r.sleep.bodies += is_asleep(row, b) ? 1 : 0;
  const double* t = steps_.times.data() + 6 * row;
  r.times = {t[0], t[1], t[2], t[3], t[4], t[5]};
  return r;
}

bool Recording::is_asleep(std::size_t row, int body) const {
  const int tree = model_->body_kernels[static_cast<std::size_t>(body)].tree;
  if (tree < 0 || steps_.asleep.empty()) return false;
  return steps_.asleep[row * static_cast<std::size_t>(model_->ntree) + static_cast<std::size_t>(tree)] != 0;
}

}  // namespace touchstone
