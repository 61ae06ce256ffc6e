#include "touchstone/io/mjcf/mjcf_files.hpp"

#include <utility>

namespace touchstone::mjcf {
namespace {

namespace fs = std::filesystem;

// The files that enclose an element, innermost first.
struct OpenFile {
  std::string path;
  std::shared_ptr<const OpenFile> outer;
};
using OpenFiles = std::shared_ptr<const OpenFile>;

struct Included {
  std::vector<XmlElement*> elements;
  OpenFiles open;
};

Included included_elements(XmlDocument& document, const XmlElement& include, const FileSource& files,
                           const std::string& folder, std::set<std::string>& seen, const OpenFiles& open) {
  const std::string name = required_attribute<std::string>(include, "file");
  std::optional<std::string> path = files.find(folder, name);
  if (!path && include.file) path = files.find(folder_of(*include.file), name);
  if (!path) {
    fail_attribute(include, "file", "no such file", "include files are relative to the folder of the main file");
  }
  for (const OpenFile* file = open.get(); file; file = file->outer.get()) {
    if (file->path == *path) fail_attribute(include, "file", "the file includes itself");
  }
  if (!seen.insert(*path).second) {
    fail_attribute(include, "file", "it was included before", "a file can be included once; use <attach> for copies");
  }
  const XmlElement& root = document.parse(files.read(*path), *path);
  return {root.children, std::make_shared<const OpenFile>(OpenFile{*path, open})};
}

}  // namespace

std::optional<std::string> FileSource::find(const std::string& folder, const std::string& file) const {
  if (file.empty()) return std::nullopt;
  const fs::path given(file);
  const fs::path local = given.is_absolute() ? given : fs::path(folder) / given;
  if (in_memory_) {
    std::string path = local.lexically_normal().generic_string();
    if (resolver_ && resolver_(path)) return path;
    return std::nullopt;
  }
  // Pipes and devices are found too, so that reading them says what is wrong.
  const auto is_file = [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
  };
  if (is_file(local)) return local.lexically_normal().string();
  for (const fs::path& search : search_paths_) {
    if (is_file(search / given)) return (search / given).lexically_normal().string();
  }
  return std::nullopt;
}

std::string FileSource::read(const std::string& path, const FileKind& kind) const {
  if (!in_memory_) return read_file(path, kind);
  if (resolver_) {
    if (std::optional<std::string> content = resolver_(path)) return *std::move(content);
  }
  throw InputError(ErrorDetail{.where = {path, 0, {}}, .message = "no such file", .remedy = {}});
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

void expand_includes(XmlDocument& document, XmlElement& root, const FileSource& files, const std::string& folder) {
  struct Pending {
    XmlElement* element;
    OpenFiles open;
    int depth;
  };
  std::set<std::string> seen;
  // The main file counts as open, so that including it is a cycle.
  const std::string main_file = root.file ? fs::path(*root.file).lexically_normal().string() : std::string{};
  std::vector<Pending> stack{{&root, std::make_shared<const OpenFile>(OpenFile{main_file, nullptr}), 1}};
  while (!stack.empty()) {
    const Pending parent = std::move(stack.back());
    stack.pop_back();
    if (parent.depth > XmlDocument::kMaxDepth) {
      fail(*parent.element, fmt::format("elements are nested more than {} deep", XmlDocument::kMaxDepth));
    }
    std::vector<XmlElement*> expanded;
    // What an include brings may be an include again, so it is looked at in its turn.
    std::vector<Pending> children;
    const auto add_children = [&](const std::vector<XmlElement*>& elements, const OpenFiles& open) {
      for (auto e = elements.rbegin(); e != elements.rend(); ++e) children.push_back({*e, open, parent.depth + 1});
    };
    add_children(parent.element->children, parent.open);
    while (!children.empty()) {
      Pending child = std::move(children.back());
      children.pop_back();
      if (child.element->tag == "include") {
        const Included included = included_elements(document, *child.element, files, folder, seen, child.open);
        add_children(included.elements, included.open);
        continue;
      }
      expanded.push_back(child.element);
      stack.push_back(std::move(child));
    }
    parent.element->children = std::move(expanded);
  }
}

}  // namespace touchstone::mjcf
