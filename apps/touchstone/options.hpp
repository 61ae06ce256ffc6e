// The options that several commands share.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "touchstone/model/model.hpp"

namespace touchstone::cli {

// A model by file or scene name, and how to load it.
struct ModelOptions {
  std::string model;
  std::vector<std::string> search_paths;
  bool floating_base = false;
  bool keep_fixed = false;
  bool allow_ignored = false;
  std::string meshes = "hull";
};

void add_model_options(CLI::App& command, ModelOptions& options);

// The file if there is one, otherwise the embedded scene of that name. Throws Error.
ModelPtr load(const ModelOptions& options);

}  // namespace touchstone::cli
