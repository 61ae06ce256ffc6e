// A file that leads a browser to an address. The words of a command line are seen by every user of a machine (ps), so
// an address with a token is not one of them: the browser is given the name of a file that only its user can read.
#pragma once

#include <filesystem>
#include <string_view>

namespace touchstone {

class PageLink {
 public:
  // Throws Error if there is no room for temporary files.
  explicit PageLink(std::string_view url);
  PageLink(const PageLink&) = delete;
  PageLink& operator=(const PageLink&) = delete;
  ~PageLink();  // removes it

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path folder_, file_;
};

}  // namespace touchstone
