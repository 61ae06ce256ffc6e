// How a file stays readable. All objects are made first; then HDF5's single-writer mode starts, in which metadata are
// written only after what they point to. Rows wait in memory until a chunk is full. A chunk is appended to every data
// set and flushed, and only then the two counters of /meta/rows (moments, contacts) go up. A reader believes the
// counters alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

#include "touchstone/base/descriptor.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/base/version.hpp"
#include "touchstone/io/fclib/hdf5.hpp"
#include "touchstone/model/serialize.hpp"
#include "touchstone/record/layout.hpp"
#include "touchstone/sim/option_fields.hpp"
#include "touchstone/sim/sleep.hpp"

namespace touchstone {

using hdf5::Handle;
using record::Column;

namespace {

constexpr std::size_t kChunkBytes = 128 * 1024;  // of all columns of a chunk together, about
constexpr std::size_t kContactChunk = 512;       // rows
constexpr int kLargestChunk = 100'000;           // rows

std::size_t chunk_rows(const Model& model, int wanted) {
  if (wanted > 0) return static_cast<std::size_t>(wanted);
  const int numbers = model.nq + model.nv + model.na + model.nu + model.nloop + 7 * model.nmocap + 20;
  return std::clamp<std::size_t>(kChunkBytes / (8 * static_cast<std::size_t>(numbers)), 16, 512);
}

std::string options_text(const SimulatorOptions& options) {
  std::string text;
  for (const auto& [name, value] : option_values(options)) text += fmt::format("{}={}\n", name, value);
  return text;
}

// The model as it is simulated: its parameters may have been changed since it was loaded.
std::string model_bytes(const Simulator& sim) {
  Model model = sim.model();
  model.defaults = sim.parameters();
  return serialize(model);
}

void put(std::vector<double>& column, const VectorX& values) {
  column.insert(column.end(), values.begin(), values.end());
}
void put(std::vector<double>& column, Vec3 v) { column.insert(column.end(), {v.x(), v.y(), v.z()}); }

}  // namespace

// Counts of the steps since a row.
struct Happened {
  std::int32_t events = 0, impacts = 0, rejected = 0, fallbacks = 0, newton = 0;
  double last = 0.0;  // s: the last event of all

  void add(const StepReport& r) {
    events += r.events.events;
    impacts += r.events.impacts;
    rejected += r.events.rejected + r.accuracy.rejected;
    fallbacks += r.events.fallbacks + (r.warnings.variational_fallback ? 1 : 0);
    newton += r.newton;
    if (r.events.events > 0) last = r.events.last;
  }
};

struct RecordingWriter::Impl {
  using Counts = std::array<std::int64_t, 2>;  // moments, contacts

  Impl(const std::filesystem::path& path, const Simulator& sim, const RecordingOptions& recording)
      : name(path.string()),
        options(recording),
        model(sim.model_ptr()),
        sleepers(may_sleep(sim.model(), sim.options()) ? sim.model().ntree : 0) {
    if (options.every < 1)
      throw Error({.where = {}, .message = fmt::format("every is {}", options.every), .remedy = "give 1 or more"});
    if (options.compression < 0 || options.compression > 9)
      throw Error(
          {.where = {}, .message = fmt::format("compression is {}", options.compression), .remedy = "give 0 to 9"});
    if (options.chunk < 0 || options.chunk > kLargestChunk)
      throw Error({.where = {},
                   .message = fmt::format("chunk is {}", options.chunk),
                   .remedy = fmt::format("give 0 (by size) to {} rows", kLargestChunk)});
    chunk = chunk_rows(*model, options.chunk);
    lock_file();
    create(sim);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error({.where = {name, 0, what},
                 .message = "the recording cannot be written",
                 .remedy = fmt::format("the disk may be full; the first {} moments are in the file", committed[0])});
  }
  void check(bool ok, const std::string& what) const {
    if (!ok) fail(what);
  }

  void lock_file();
  void create(const Simulator& sim);
  void write_meta(const Simulator& sim);
  void write_text(const std::string& path, const std::string& value) const;
  void write_bytes(const std::string& path, const std::string& bytes) const;
  void create_table(const std::vector<Column>& columns, std::size_t rows, std::vector<Handle>& datasets);
  void append(const std::vector<Column>& columns, const std::vector<Handle>& datasets, std::size_t first,
              std::size_t rows) const;
  void take(Simulator& sim);
  void take_events(const StepReport& r);
  void pass(const StepReport& r);
  void flush();
  void commit(const Counts& rows);
  void finish();
  void detach() const;
  void close();

  std::string name;
  RecordingOptions options;
  ModelPtr model;
  int sleepers = 0;  // trees whose sleep is recorded
  Descriptor lock;   // is released last
  Handle file;
  std::vector<Handle> step_sets, contact_sets;
  Handle counter, complete;
  StepTable steps;
  ContactTable contacts;
  std::size_t chunk = 0;
  std::int32_t step_number = 0;
  StepReport before;  // the worst of the steps since the last row
  Happened happened;  // in them
  Counts committed{0, 0};
  bool broken = false;  // a write failed: the file is left as it is
};

void RecordingWriter::Impl::write_text(const std::string& path, const std::string& value) const {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  check(type && space && H5Tset_size(type.get(), value.size() + 1) >= 0, path);
  const Handle set(H5Dcreate2(file.get(), path.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose);
  check(set && H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()) >= 0, path);
}

void RecordingWriter::Impl::write_bytes(const std::string& path, const std::string& bytes) const {
  const hsize_t size = bytes.size(), part = std::min<hsize_t>(size, 1U << 20U);
  const Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(space && layout && H5Pset_chunk(layout.get(), 1, &part) >= 0 &&
            (options.compression == 0 || H5Pset_deflate(layout.get(), static_cast<unsigned>(options.compression)) >= 0),
        path);
  const Handle set(
      H5Dcreate2(file.get(), path.c_str(), H5T_STD_U8LE, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
      H5Dclose);
  check(set && H5Dwrite(set.get(), H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0, path);
}

void RecordingWriter::Impl::create_table(const std::vector<Column>& columns, std::size_t rows,
                                         std::vector<Handle>& datasets) {
  for (const Column& column : columns) {
    if (column.width == 0) {
      datasets.emplace_back();
      continue;
    }
    const std::array<hsize_t, 2> start{0, column.width}, most{H5S_UNLIMITED, column.width}, part{rows, column.width};
    const Handle space(H5Screate_simple(2, start.data(), most.data()), H5Sclose);
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    bool ok = space && layout && H5Pset_chunk(layout.get(), 2, part.data()) >= 0;
    if (ok && options.compression > 0) {
      ok = H5Pset_shuffle(layout.get()) >= 0 &&
           H5Pset_deflate(layout.get(), static_cast<unsigned>(options.compression)) >= 0;
    }
    ok = ok && H5Pset_fletcher32(layout.get()) >= 0;  // so that a damaged chunk is noticed
    const hid_t type = column.numbers != nullptr ? H5T_IEEE_F64LE : H5T_STD_I32LE;
    datasets.emplace_back(
        H5Dcreate2(file.get(), column.path.c_str(), type, space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
        H5Dclose);
    check(ok && datasets.back(), column.path);
  }
}

void RecordingWriter::Impl::write_meta(const Simulator& sim) {
  for (const char* group : {"/meta", "/model", "/steps", "/contacts"}) {
    const Handle made(H5Gcreate2(file.get(), group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    check(static_cast<bool>(made), group);
  }
  write_text("/meta/format", "touchstone-recording");
  write_text("/meta/format_version", std::to_string(record::kFormatVersion));
  write_text("/meta/program", std::string("touchstone ") + kVersion);
  write_text("/meta/scene", options.scene);
  write_text("/meta/options", options_text(sim.options()));
  write_text("/meta/time_step", fmt::format("{}", sim.time_step()));
  write_text("/meta/every", std::to_string(options.every));
  write_text("/meta/figures", record::kWorstSinceRow);
  write_text("/model/name", model->name);
  write_text("/model/file", model->file);
  write_bytes("/model/data", model_bytes(sim));
}

// A lock of the open file, so that it ends with the process, and a second writer in the same process is noticed too.
// It is not of the kind that HDF5 takes (flock), which would keep readers out. Where the file system knows no locks
// there is none.
void RecordingWriter::Impl::lock_file() {
  require_writable(name);
  lock = Descriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  struct stat status {};
  if (!lock || ::fstat(lock.get(), &status) != 0) {
    throw InputError({.where = {name, 0, {}},
                      .message = "the recording cannot be created: " + std::generic_category().message(errno),
                      .remedy = "check the folder and its permissions"});
  }
  if (!S_ISREG(status.st_mode)) {
    throw InputError({.where = {name, 0, {}},
                      .message = "a recording needs a regular file, and this is a device or a pipe",
                      .remedy = "choose another file"});
  }
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(lock.get(), F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES)) return;
  throw InputError({.where = {name, 0, {}},
                    .message = "another process or writer is writing this recording",
                    .remedy = "wait until it has finished, or choose another file"});
}

void RecordingWriter::Impl::create(const Simulator& sim) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // What single-writer mode needs.
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  file = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  if (!file) {
    throw InputError({.where = {name, 0, {}},
                      .message = "the recording cannot be created",
                      .remedy = "check the folder and its permissions"});
  }
  write_meta(sim);
  create_table(record::step_columns(*model, steps, sleepers), chunk, step_sets);
  create_table(record::contact_columns(contacts), kContactChunk, contact_sets);
  const hsize_t two = 2, one = 1;
  const Handle pair(H5Screate_simple(1, &two, nullptr), H5Sclose), single(H5Screate_simple(1, &one, nullptr), H5Sclose);
  counter = Handle(
      H5Dcreate2(file.get(), "/meta/rows", H5T_STD_I64LE, pair.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  complete = Handle(
      H5Dcreate2(file.get(), "/meta/complete", H5T_STD_I32LE, single.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  const std::int32_t no = 0;
  check(counter && complete &&
            H5Dwrite(counter.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, committed.data()) >= 0 &&
            H5Dwrite(complete.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &no) >= 0,
        "/meta");
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0 && H5Fstart_swmr_write(file.get()) >= 0, "/meta");
}

void RecordingWriter::Impl::append(const std::vector<Column>& columns, const std::vector<Handle>& datasets,
                                   std::size_t first, std::size_t rows) const {
  if (rows == 0) return;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const Column& column = columns[c];
    if (column.width == 0) continue;
    const hid_t set = datasets[c].get();
    const std::array<hsize_t, 2> start{first, 0}, count{rows, column.width}, size{first + rows, column.width};
    bool ok = H5Dset_extent(set, size.data()) >= 0;
    const Handle in_file(H5Dget_space(set), H5Sclose), in_memory(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
    ok = ok && H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0;
    const bool numbers = column.numbers != nullptr;
    const void* data = numbers ? static_cast<const void*>(column.numbers->data()) : column.integers->data();
    ok = ok && H5Dwrite(set, numbers ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32, in_memory.get(), in_file.get(),
                        H5P_DEFAULT, data) >= 0;
    check(ok, column.path);
  }
}

void RecordingWriter::Impl::take(Simulator& sim) {
  const StepReport& r = sim.report();
  const State& s = sim.state();
  steps.time.push_back(s.time);
  put(steps.q, s.q);
  put(steps.v, s.v);
  put(steps.activation, s.activation);
  put(steps.control, sim.input().control);
  put(steps.loop_q, s.loop_q);
  for (const Transform& X : s.mocap) {
    put(steps.mocap, X.position);
    steps.mocap.insert(steps.mocap.end(), {X.rotation.w(), X.rotation.x(), X.rotation.y(), X.rotation.z()});
  }
  steps.step.push_back(step_number);
  steps.status.push_back(static_cast<std::int32_t>(std::max(r.status, before.status)));
  steps.contacts.push_back(static_cast<std::int32_t>(sim.contacts().size()));
  steps.constraints.push_back(r.constraints);
  steps.islands.push_back(r.islands);
  steps.iterations.push_back(r.iterations);
  for (int tree = 0; tree < sleepers; ++tree)
    steps.asleep.push_back(sim.is_asleep(model->tree_root[static_cast<std::size_t>(tree)]) ? 1 : 0);
  take_events(r);
  steps.natv.push_back(std::max(r.residuals.natv, before.residuals.natv));
  steps.natv_relative.push_back(std::max(r.residuals.natv_relative, before.residuals.natv_relative));
  steps.law_natv.push_back(std::max(r.residuals.law_natv, before.residuals.law_natv));
  steps.law_natv_relative.push_back(std::max(r.residuals.law_natv_relative, before.residuals.law_natv_relative));
  steps.penetration.push_back(std::max(r.penetration, before.penetration));
  steps.violation.push_back(std::max(r.violation, before.violation));
  before = StepReport();
  steps.times.insert(steps.times.end(), {r.times.dynamics, r.times.collision, r.times.assembly, r.times.solve,
                                         r.times.integrate, r.times.certify});
  for (const ContactForce& f : sim.contacts()) {
    contacts.shape_a.push_back(f.contact->shape_a);
    contacts.shape_b.push_back(f.contact->shape_b);
    put(contacts.position, f.contact->position);
    put(contacts.normal, f.contact->normal());
    put(contacts.force, f.force);
    put(contacts.torque, f.torque);
    contacts.distance.push_back(f.contact->distance);
    contacts.friction.push_back(f.contact->material.dimension >= 3 ? f.contact->material.friction[0] : 0.0);
  }
  steps.kinetic_energy.push_back(sim.kinetic_energy());
  steps.potential_energy.push_back(sim.potential_energy());
  if (steps.rows() == chunk) flush();
}

// What happened since the row before.
void RecordingWriter::Impl::take_events(const StepReport& r) {
  happened.add(r);
  steps.events.push_back(happened.events);
  steps.impacts.push_back(happened.impacts);
  steps.rejected.push_back(happened.rejected);
  steps.fallbacks.push_back(happened.fallbacks);
  steps.newton.push_back(happened.newton);
  steps.last_event.push_back(happened.last);
  happened = {.last = happened.last};
}

// The certificate of a step that has no row of its own.
void RecordingWriter::Impl::pass(const StepReport& r) {
  happened.add(r);
  before.status = std::max(before.status, r.status);
  keep_worst(r.residuals, before.residuals);
  before.penetration = std::max(before.penetration, r.penetration);
  before.violation = std::max(before.violation, r.violation);
}

void RecordingWriter::Impl::flush() {
  if (broken || steps.rows() == 0) return;
  const hdf5::Silence silence;
  broken = true;  // until all of it is written
  const std::size_t rows = steps.rows(), points = contacts.rows();
  append(record::contact_columns(contacts), contact_sets, static_cast<std::size_t>(committed[1]), points);
  append(record::step_columns(*model, steps, sleepers), step_sets, static_cast<std::size_t>(committed[0]), rows);
  check(H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0, "/steps");
  commit({committed[0] + static_cast<std::int64_t>(rows), committed[1] + static_cast<std::int64_t>(points)});
  steps = {};
  contacts = {};
  broken = false;
}

void RecordingWriter::Impl::commit(const Counts& rows) {
  check(H5Dwrite(counter.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0 &&
            H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0,
        "/meta/rows");
  committed = rows;
}

void RecordingWriter::Impl::finish() {
  flush();
  const std::int32_t yes = 1;
  broken = true;  // until that is written too
  check(H5Dwrite(complete.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, &yes) >= 0 &&
            H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0,
        "/meta/complete");
  broken = false;
}

// HDF5 insists on writing what it could not write, when it closes a file and again when the process ends, and does not
// survive another failure. From here on it writes to nowhere, and the file stays as it was.
void RecordingWriter::Impl::detach() const {
  void* handle = nullptr;
  if (H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, *static_cast<int*>(handle));
  ::close(nowhere);
}

void RecordingWriter::Impl::close() {
  if (!file) return;
  const hdf5::Silence silence;
  std::exception_ptr problem;
  try {
    if (!broken) finish();
  } catch (const Error&) {
    problem = std::current_exception();
  }
  if (broken) detach();
  step_sets.clear();
  contact_sets.clear();
  counter = Handle();
  complete = Handle();
  const bool closed = file.close_now();
  lock = Descriptor();
  if (problem) std::rethrow_exception(problem);
  if (!closed && !broken) fail("closing");
}

RecordingWriter::RecordingWriter(const std::filesystem::path& file, Simulator& sim, const RecordingOptions& options) {
  const hdf5::Silence silence;
  impl_ = std::make_unique<Impl>(file, sim, options);
  impl_->take(sim);
}

RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;

RecordingWriter::~RecordingWriter() {
  if (impl_ == nullptr) return;
  try {
    impl_->close();
  } catch (const std::exception&) {  // whoever wants to know calls close()
  }
}

void RecordingWriter::add(Simulator& sim) {
  Impl& w = *impl_;
  ++w.step_number;
  if (w.step_number % w.options.every == 0 || sim.report().status == StepStatus::kDiverged) {
    w.take(sim);
  } else {
    w.pass(sim.report());
  }
}

void RecordingWriter::close() { impl_->close(); }

}  // namespace touchstone
