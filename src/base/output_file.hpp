// Writing files that users name.
//
// A regular file appears whole or not at all: it is written beside its name and then renamed, and keeps the permissions
// of the file that it replaces. A link stays a link: what it points to is written. A device, a pipe or an open
// descriptor (/dev/null, /dev/stdout, >(program)) is written to as it is, and never replaced. Folders are not made.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/base/descriptor.hpp"

namespace touchstone {

class OutputFile {
 public:
  // Throws InputError as require_writable does.
  explicit OutputFile(const std::filesystem::path& file);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  // without commit() a regular file stays as it was

  // Throws InputError that says why (disk full ...).
  void write(std::string_view bytes);
  // Gives the file its name. Throws InputError.
  void commit();
  // Where a library that wants a name may write before commit(), instead of write(). A regular file, empty.
  // Throws InputError if the target is not a regular file.
  const std::filesystem::path& temporary() const;

 private:
  void open_temporary(unsigned mode);
  [[noreturn]] void fail(const std::string& message) const;

  std::filesystem::path name_;       // as given, for messages
  std::filesystem::path target_;     // where links lead
  std::filesystem::path temporary_;  // empty if the target is no regular file
  Descriptor out_;
};

// All of it, through OutputFile.
void write_file(const std::filesystem::path& file, std::string_view bytes);

// Whether the file can be written, as far as that can be known: its folder exists, may be written and has room; it is
// no folder itself and not read-only. Throws InputError. For commands that work long before they write.
void require_writable(const std::filesystem::path& file);

// For commands that put files into a folder: makes the folder itself if it is not there, but not the one it is in.
// Throws InputError if that one is missing, or if the folder may not be written.
void make_output_folder(const std::filesystem::path& folder);

// An output or input of a command.
struct NamedFile {
  std::string option;  // "--html", or what the input is: "the model"
  std::filesystem::path file;
};

// Throws InputError if two outputs are one file, or an output is an input, by whatever name or link. Empty names are
// left out; inputs need not be files.
void require_distinct(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs = {});

}  // namespace touchstone
