// How the programs of this folder start and end.
#pragma once

#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace touchstone::peers {

// Calls run(arguments); an exception becomes a line on standard error and exit code 1.
inline int run_program(int (*run)(const std::vector<std::string>&), int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace touchstone::peers
