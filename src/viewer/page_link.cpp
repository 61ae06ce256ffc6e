#include "touchstone/viewer/page_link.hpp"

#include <cstdlib>
#include <string>
#include <system_error>

#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"

namespace touchstone {
namespace {

// In attributes and text of HTML.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = std::string_view("&<>\"'").find(c) == std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return out;
}

}  // namespace

PageLink::PageLink(std::string_view url) {
  std::string name = (std::filesystem::temp_directory_path() / "touchstone-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)  // with permissions for this user alone
    throw Error("cannot make a folder in {}", std::filesystem::temp_directory_path().string());
  folder_ = name;
  file_ = folder_ / "open.html";
  const std::string address = escaped(url);
  write_file(file_, fmt::format("<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
                                "<meta name='referrer' content='no-referrer'>\n"
                                "<meta http-equiv='refresh' content='0; url={}'>\n<title>Touchstone</title>\n</head>\n"
                                "<body><a href='{}'>Open the viewer</a></body>\n</html>\n",
                                address, address));
  std::filesystem::permissions(file_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

PageLink::~PageLink() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace touchstone
