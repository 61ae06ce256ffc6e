// HDF5 with C++ manners: handles that close themselves, errors as exceptions, sizes checked before memory is asked for.
// For io and record only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hdf5.h>

namespace touchstone::hdf5 {

// Owns an identifier of any kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_now(); }

  // Closes now, without a word; false if that failed.
  bool close_now();

  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// While one lives, HDF5 does not print its errors; then it does what it did before. Make one where HDF5 is called and
// let it go on the same thread: a library that is safe for threads keeps one printer for each. When the process ends
// HDF5 stays silent, because it tries once more to write what it could not write.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};

// A data set of a file that may come from anywhere. Invalid if there is none, or if reading it would lead outside the
// file (links to other files, external or virtual storage) or need a buffer of absurd size for one chunk.
Handle open_dataset(hid_t file, const std::string& path);

// A file in memory, read only. Throws InputError if the bytes are no HDF5 file.
class Reader {
 public:
  Reader(std::string_view bytes, std::string name);

  bool has(const std::string& path) const;
  // Throw InputError naming the path if it is missing, of another kind, not written, or larger than the file can hold.
  std::vector<int> integers(const std::string& path) const;
  std::vector<double> numbers(const std::string& path) const;
  int integer(const std::string& path) const;
  // Empty if the path does not exist.
  std::string text(const std::string& path) const;

  [[noreturn]] void fail(const std::string& path, const std::string& message, const std::string& remedy) const;

 private:
  Handle open(const std::string& path, H5T_class_t kind, const char* what, std::size_t& count) const;

  std::string name_;
  std::size_t bytes_ = 0;
  Handle file_;
};

// Throws Error if something cannot be written.
class Writer {
 public:
  explicit Writer(const std::filesystem::path& file);

  // Writes the file; without it there is none.
  void save();

  void group(const std::string& path);
  void integers(const std::string& path, const std::vector<int>& values);
  void numbers(const std::string& path, const std::vector<double>& values);
  void text(const std::string& path, const std::string& value);

 private:
  void write(const std::string& path, hid_t file_type, hid_t memory_type, std::size_t count, const void* values);

  std::string name_;
  Handle file_;
};

}  // namespace touchstone::hdf5
