#include "touchstone/viewer/page.hpp"

#include <algorithm>

#include "touchstone/base/check.hpp"
#include "touchstone/base/error.hpp"
#include "touchstone/base/output_file.hpp"
#include "touchstone/viewer/embedded_page.hpp"

namespace touchstone {
namespace {

// Stands in the page where the document goes.
constexpr std::string_view kPlaceholder = "\"touchstone-document\"";

const EmbeddedFile* find_page() {
  const auto files = embedded_web_files();
  const auto found =
      std::find_if(files.begin(), files.end(), [](const auto& file) { return file.path == "viewer.html"; });
  return found != files.end() ? &*found : nullptr;
}

}  // namespace

bool has_viewer_page() { return find_page() != nullptr; }

std::string viewer_page(std::string_view document) {
  const EmbeddedFile* page = find_page();
  if (page == nullptr) {
    throw Error(ErrorDetail{.where = {},
                            .message = "this build has no viewer page, because web/ was not built before it",
                            .remedy =
                                "build with ./run, or run 'npm ci && npm run build' in web/ (Node.js 18 or newer) "
                                "and build again"});
  }
  const std::size_t place = page->text.find(kPlaceholder);
  TOUCHSTONE_CHECK(place != std::string_view::npos, "the viewer page has no placeholder {}", kPlaceholder);
  std::string out;
  const std::string escaped = viewer::escaped_for_script(document);
  out.reserve(page->text.size() + escaped.size());
  out += page->text.substr(0, place);
  out += escaped;
  out += page->text.substr(place + kPlaceholder.size());
  return out;
}

void write_html(const Replay& replay, const std::filesystem::path& file) {
  write_file(file, viewer_page(replay_json(replay)));
}

namespace viewer {

std::string escaped_for_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {  // JSON has it inside strings only, where the escape means the same
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace viewer
}  // namespace touchstone
