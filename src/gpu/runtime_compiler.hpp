// NVIDIA's compiler at run time (NVRTC), found and loaded where it is installed; nothing is linked against it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace touchstone::gpu {

// A source that a program can include by its name.
struct NamedSource {
  std::string name, text;
};

struct CompiledProgram {
  std::string code;     // cubin; empty: there is none
  std::string problem;  // why not
};

// Where it was found and its version; empty if there is none, and then `problem` says where it was looked for.
// TOUCHSTONE_NVRTC names it; else the dynamic linker and CUDA's usual folder are asked.
std::string runtime_compiler(std::string& problem);

// Compiles `program`, which may include `sources`. Never throws for what the compiler says.
CompiledProgram compile_at_run_time(const std::string& program, std::span<const NamedSource> sources,
                                    const std::vector<std::string>& options);

}  // namespace touchstone::gpu
