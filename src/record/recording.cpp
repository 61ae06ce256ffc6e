#include "touchstone/record/recording.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "touchstone/base/error.hpp"
#include "touchstone/io/hdf5.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/record/layout.hpp"
#include "touchstone/sim/option_fields.hpp"

namespace touchstone {

using hdf5::Handle;
using record::Column;

namespace {

constexpr std::size_t kMaxCompression = 1100;  // deflate and shuffle cannot do better
constexpr unsigned kReadAttempts = 10;         // of metadata that another process may be writing

class File {
 public:
  explicit File(const std::filesystem::path& path) : name_(path.string()) {
    std::error_code problem;
    if (!std::filesystem::is_regular_file(path, problem)) fail("there is no such file");
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_metadata_read_attempts(access.get(), kReadAttempts);
    // As a reader beside a writer: only so a file whose writer was killed opens.
    file_ = Handle(H5Fopen(name_.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get()), H5Fclose);
    if (!file_) open_cut();
    if (!file_ || text("/meta/format") != "touchstone-recording") fail("it is not a recording of Touchstone");
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

  std::string text(const std::string& path) const {
    const Handle set(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
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
    if (error != std::errc() || end != value.data() + value.size()) fail(path + " is damaged");
    return x;
  }

  std::string bytes(const std::string& path) const {
    const Handle set(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
    std::string value(length(set), '\0');
    if (value.empty() || H5Dread(set.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
      fail(path + " cannot be read");
    return value;
  }

  template <typename Integer, std::size_t N>
  std::array<Integer, N> integers(const std::string& path, hid_t memory_type) const {
    const Handle set(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
    std::array<Integer, N> value{};
    if (length(set) != N || H5Dread(set.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0)
      fail(path + " cannot be read");
    return value;
  }

  // Up to `rows` rows; fewer if the file ends or is damaged. Returns their number.
  std::size_t read(const Column& column, std::size_t rows) const {
    if (column.width == 0) return rows;
    const Handle set(H5Dopen2(file_.get(), column.path.c_str(), H5P_DEFAULT), H5Dclose);
    rows = std::min(rows, length(set) / column.width);
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
    std::ifstream stream(name_, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    std::uint64_t end = 0;
    if (bytes.size() < kEndOffset + sizeof end || bytes.compare(1, 3, "HDF") != 0) return;
    std::memcpy(&end, bytes.data() + kEndOffset, sizeof end);
    if (end <= bytes.size() || end > kLargest) return;
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
    return count / kMaxCompression > size / H5Tget_size(type.get()) ? 0 : count;
  }

  static bool read_rows(const Handle& set, const Column& column, std::size_t rows) {
    const bool numbers = column.numbers != nullptr;
    if (numbers) {
      column.numbers->resize(rows * column.width);
    } else {
      column.integers->resize(rows * column.width);
    }
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
  Handle file_;
};

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

// Reads the columns of a table and cuts all of them to the shortest.
std::size_t read_table(const File& file, const std::vector<Column>& columns, std::size_t rows) {
  for (const Column& column : columns) rows = std::min(rows, file.read(column, rows));
  cut(columns, rows);
  return rows;
}

void check_contacts(const File& file, const Model& model, const ContactTable& contacts) {
  const auto known = [&model](std::int32_t shape) { return shape >= 0 && shape < model.nshape; };
  if (!std::all_of(contacts.shape_a.begin(), contacts.shape_a.end(), known) ||
      !std::all_of(contacts.shape_b.begin(), contacts.shape_b.end(), known))
    file.fail("a contact names a shape that the model does not have");
}

}  // namespace

Recording::Recording(const std::filesystem::path& path) {
  const File file(path);
  scene_ = file.text("/meta/scene");
  version_ = file.text("/meta/program");
  options_ = parse_options(file.text("/meta/options"));
  time_step_ = file.number("/meta/time_step");
  every_ = static_cast<int>(file.number("/meta/every"));
  covers_all_steps_ = every_ == 1 || file.text("/meta/figures") == record::kWorstSinceRow;
  model_ = deserialize_model(file.bytes("/model/data"));
  complete_ = file.integers<std::int32_t, 1>("/meta/complete", H5T_NATIVE_INT32)[0] == 1;
  const auto counts = file.integers<std::int64_t, 2>("/meta/rows", H5T_NATIVE_INT64);
  const auto claimed = [&](std::size_t i) { return static_cast<std::size_t>(std::max<std::int64_t>(0, counts[i])); };

  const std::vector<Column> step_columns = record::step_columns(*model_, steps_);
  const std::vector<Column> contact_columns = record::contact_columns(contacts_);
  std::size_t rows = read_table(file, step_columns, claimed(0));
  const std::size_t points = read_table(file, contact_columns, claimed(1));
  check_contacts(file, *model_, contacts_);
  contact_start_.assign(1, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t count = steps_.contacts[row];
    if (count < 0 || contact_start_.back() + static_cast<std::size_t>(count) > points) {
      rows = row;
      break;
    }
    contact_start_.push_back(contact_start_.back() + static_cast<std::size_t>(count));
  }
  cut(step_columns, rows);
  cut(contact_columns, contact_start_.back());
  complete_ = complete_ && rows == claimed(0);
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
  r.residuals.natv = steps_.natv[row];
  r.residuals.natv_relative = steps_.natv_relative[row];
  r.penetration = steps_.penetration[row];
  r.violation = steps_.violation[row];
  const double* t = steps_.times.data() + 6 * row;
  r.times = {t[0], t[1], t[2], t[3], t[4], t[5]};
  return r;
}

}  // namespace touchstone
