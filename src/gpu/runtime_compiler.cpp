#include "touchstone/gpu/runtime_compiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace touchstone::gpu {
namespace {

// The functions of nvrtc.h that are used here, by their C interface.
using Program = struct OpaqueProgram*;
struct Functions {
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*code_size)(Program, std::size_t*) = nullptr;
  int (*code)(Program, char*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  const char* (*error)(int) = nullptr;
};

struct Compiler {
  Functions call;
  std::string name, problem;  // name: empty if there is none
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Functions& f) {
  return find(library, "nvrtcVersion", f.version) && find(library, "nvrtcCreateProgram", f.create) &&
         find(library, "nvrtcDestroyProgram", f.destroy) && find(library, "nvrtcCompileProgram", f.compile) &&
         find(library, "nvrtcGetCUBINSize", f.code_size) && find(library, "nvrtcGetCUBIN", f.code) &&
         find(library, "nvrtcGetProgramLogSize", f.log_size) && find(library, "nvrtcGetProgramLog", f.log) &&
         find(library, "nvrtcGetErrorString", f.error);
}

std::vector<std::string> places() {
  if (const char* given = std::getenv("TOUCHSTONE_NVRTC")) return {given};
  std::vector<std::string> names;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {".13", ".12", ""})
      names.push_back(std::string(folder).append("libnvrtc.so").append(version));
  }
  return names;
}

// NVRTC asks the dynamic linker for its other half by name, which is not among its folders in a Python package; one
// that is loaded already is found.
void load_neighbour(const std::string& place, const std::string& name) {
  const std::size_t end = place.rfind('/');
  if (end != std::string::npos) dlopen((place.substr(0, end + 1) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

Compiler load() {
  Compiler result;
  for (const std::string& place : places()) {
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    int major = 0, minor = 0;
    if (find_all(library, result.call) && result.call.version(&major, &minor) == 0) {
      const std::string version = std::to_string(major) + "." + std::to_string(minor);
      load_neighbour(place, "libnvrtc-builtins.so." + version);
      result.name = place;
      result.name.append(" ").append(version);
      return result;
    }
    dlclose(library);
  }
  const char* given = std::getenv("TOUCHSTONE_NVRTC");
  result.problem = given != nullptr ? std::string("TOUCHSTONE_NVRTC names '") + given + "', which is no NVRTC library"
                                    : "there is no libnvrtc.so; install CUDA or nvidia-cuda-nvrtc, or name the library "
                                      "in TOUCHSTONE_NVRTC";
  return result;
}

// Loaded once: a compiler that was used stays.
const Compiler& compiler() {
  static const Compiler found = load();
  return found;
}

class OwnedProgram {
 public:
  OwnedProgram(const Functions& call, Program program) : call_(call), program_(program) {}
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ~OwnedProgram() { call_.destroy(&program_); }
  Program get() const { return program_; }

 private:
  const Functions& call_;
  Program program_;
};

// The first lines of what the compiler says.
std::string log_of(const Functions& call, Program program) {
  constexpr std::size_t kLongest = 600;
  std::size_t size = 0;
  if (call.log_size(program, &size) != 0 || size < 2) return "";
  std::string text(size, '\0');
  if (call.log(program, text.data()) != 0) return "";
  text.resize(std::min(size - 1, kLongest));
  return text;
}

}  // namespace

std::string runtime_compiler(std::string& problem) {
  problem = compiler().problem;
  return compiler().name;
}

CompiledProgram compile_at_run_time(const std::string& program, std::span<const NamedSource> sources,
                                    const std::vector<std::string>& options) {
  const Compiler& found = compiler();
  if (found.name.empty()) return {"", found.problem};
  const Functions& call = found.call;
  std::vector<const char*> names, texts, flags;
  for (const NamedSource& source : sources) {
    names.push_back(source.name.c_str());
    texts.push_back(source.text.c_str());
  }
  for (const std::string& option : options) flags.push_back(option.c_str());
  Program made = nullptr;
  int status =
      call.create(&made, program.c_str(), "touchstone.cu", static_cast<int>(names.size()), texts.data(), names.data());
  if (status != 0) return {"", std::string("NVRTC takes no program: ") + call.error(status)};
  const OwnedProgram owned(call, made);
  status = call.compile(made, static_cast<int>(flags.size()), flags.data());
  if (status != 0) return {"", std::string("NVRTC: ") + call.error(status) + "\n" + log_of(call, made)};
  std::size_t size = 0;
  CompiledProgram result;
  if (call.code_size(made, &size) == 0) result.code.resize(size);
  if (size == 0 || call.code(made, result.code.data()) != 0) return {"", "NVRTC has made no code for this chip"};
  return result;
}

}  // namespace touchstone::gpu
