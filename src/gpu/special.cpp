#include "touchstone/gpu/special.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "touchstone/gpu/stages.hpp"

namespace touchstone::gpu {
namespace {

void add_number(std::string& text, int value) { text += std::to_string(value); }

void add_number(std::string& text, double value) {
  char number[40];
  std::snprintf(number, sizeof number, "%a", value);  // every bit of it
  text += std::isinf(value) ? (value > 0.0 ? "kInfinite" : "-kInfinite") : number;
}

// What the entry `i` of a table is without looking at it, where many tables of a model agree; empty: nothing simple.
std::string rule_of(const std::vector<double>& values) {
  for (const double value : values) {
    if (std::memcmp(&value, values.data(), sizeof value) != 0) return "";
  }
  std::string rule;
  add_number(rule, values.front());
  return rule;
}

// Also: equal at first, as those of a free joint's dofs are, then increasing by the same number.
std::string rule_of(const std::vector<int>& values) {
  const auto at = [&](std::size_t k) { return static_cast<long long>(values[k]); };
  const std::size_t count = values.size();
  std::size_t same = 1;
  while (same < count && at(same) == at(0)) ++same;
  if (same == count) return std::to_string(at(0));
  if (same + 2 >= count) return "";  // two points make no rule
  const long long slope = at(same + 1) - at(same), start = at(same) - slope * static_cast<long long>(same);
  for (std::size_t k = same; k < count; ++k) {
    if (at(k) != start + slope * static_cast<long long>(k)) return "";
  }
  std::string line = slope == 0 ? "" : "static_cast<int>(i)";
  if (slope != 0 && slope != 1) line = std::to_string(slope) + " * " + line;
  if (start != 0 || slope == 0) line += (slope == 0 ? "" : " + ") + std::to_string(start);
  return "static_cast<int>(i) < " + std::to_string(same) + " ? " + std::to_string(at(0)) + " : " + line;
}

// A table, and the member that is its address, or that knows its entries by a rule.
template <typename T>
void add_table(std::string& tables, std::string& members, const std::string& type, const std::string& name,
               const std::vector<T>& values) {
  if (values.empty()) {
    members += "  static constexpr const " + type + "* " + name + " = nullptr;\n";
    return;
  }
  tables += "TOUCHSTONE_TABLE " + type + " " + name + "[] = {";
  for (const T& value : values) {
    add_number(tables, value);
    tables += ',';
  }
  tables += "};\n";
  const std::string rule = rule_of(values);
  if (rule.empty()) {
    members += "  static constexpr const " + type + "* " + name + " = special::" + name + ";\n";
    return;
  }
  tables += "struct rule_of_" + name + " {\n  constexpr operator const " + type + "*() const { return " + name +
            "; }\n  template <typename Index>\n  constexpr " + type +
            " operator[]([[maybe_unused]] Index i) const { return " + rule + "; }\n};\n";
  members += "  static constexpr special::rule_of_" + name + " " + name + "{};\n";
}

// A struct without addresses, by its words: whatever members it has.
template <typename T>
std::string words_of(const std::string& type, const char* name, const T& value, bool is_constant) {
  static_assert(sizeof(T) % sizeof(std::uint32_t) == 0);
  std::uint32_t words[sizeof(T) / sizeof(std::uint32_t)];
  std::memcpy(words, &value, sizeof value);
  std::string text = (is_constant ? "  static constexpr " : "  ") + type + " " + name + " = __builtin_bit_cast(" +
                     type + ", special::Words<" + std::to_string(sizeof(T) / sizeof(std::uint32_t)) + ">{{";
  for (const std::uint32_t word : words) text += std::to_string(word) + "u,";
  return text + "}});\n";
}

std::string pool_of(const char* name, const Pool& pool) {
  std::string text = std::string("constexpr int ") + name + "[] = {";
  for (const int count : {pool.contacts, pool.blocks, pool.rows, pool.candidates}) text += std::to_string(count) + ",";
  return text + "};\n";
}

// Lanes a world of a stage, and the blocks of a multiprocessor that registers are shared out for: as many as its fast
// memory holds. Ten made the humanoid 2 % faster than eight, and Cassie, whose worlds leave room for eight, 1 % slower.
template <typename Stage>
std::string stage_of(const std::string& name, int lanes, const Pool& pool, const ModelSizes& sizes,
                     const SpecialShape& shape) {
  constexpr std::size_t kFewest = 8, kMost = 10, kThreads = 64, kReserved = 1024;  // bytes, of each block
  Scratch<float> unused;
  const std::size_t world = carve_stage<Stage>(sizes, pool, shape.room, nullptr, nullptr, unused);
  const std::size_t block = kThreads / static_cast<std::size_t>(lanes) * world + kReserved;
  const std::size_t blocks = std::clamp(shape.shared_memory / block, kFewest, kMost);
  return "constexpr int k" + name + "Lanes = " + std::to_string(lanes) + ", k" + name +
         "Blocks = " + std::to_string(blocks) + ";\n";
}

bool is_own(const SpecialShape& shape, WorldParameter parameter) {
  return (shape.own >> static_cast<unsigned>(parameter) & 1u) != 0;
}

// The members that are addresses of a world's own numbers, and the function that sets them.
std::string own_members(const ModelSizes& n, const SpecialShape& shape) {
  std::string members, work;
  const auto take = [&](WorldParameter parameter, const std::string& name) {
    if (!is_own(shape, parameter)) return;
    const std::string from = "own.array[" + std::to_string(static_cast<int>(parameter)) +
                             "] + static_cast<std::size_t>(world) * " + std::to_string(parameter_width(n, parameter));
    if (parameter == WorldParameter::kGravityVector) {
      work += "    for (int k = 0; k < 3; ++k) settings.gravity[k] = (" + from + ")[k];\n";
      return;
    }
    members += "  const double* " + name + ";\n";
    work += "    " + name + " = " + from + ";\n";
  };
#define TOUCHSTONE_FIELD(name, array, width) take(WorldParameter::name, #array);
  TOUCHSTONE_WORLD_PARAMETERS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  take(WorldParameter::kGravityVector, "");
  take(WorldParameter::kAppliedWrench, "applied_wrench");
  return members +
         "  template <typename Parameters>\n"
         "  TOUCHSTONE_TAKE void take_own([[maybe_unused]] const Parameters& own, [[maybe_unused]] int world) {\n" +
         work + "  }\n";
}

// What the sources use of the standard library, for a compiler that has none.
std::vector<NamedSource> small_library() {
  return {{"cstddef", "#pragma once\nnamespace std { using size_t = decltype(sizeof(0)); }\n"},
          {"cstdint",
           "#pragma once\nnamespace std {\n"
           "using int64_t = long long; using uint64_t = unsigned long long; using uint32_t = unsigned;\n}\n"},
          {"cmath", "#pragma once\n"},
          {"type_traits",
           "#pragma once\nnamespace std {\n"
           "template <bool kFirst, typename A, typename B> struct conditional { using type = A; };\n"
           "template <typename A, typename B> struct conditional<false, A, B> { using type = B; };\n"
           "template <bool kFirst, typename A, typename B>\n"
           "using conditional_t = typename conditional<kFirst, A, B>::type;\n"
           "template <typename T, T kValue> struct integral_constant { static constexpr T value = kValue; };\n}\n"}};
}

// Without what only collisions that are not compiled for a model look at: hulls and fields may have 10^5 numbers.
ModelArrays without_surfaces(ModelArrays a) {
  for (std::vector<int>* table : {&a.hull_start, &a.hull_edge_start, &a.hull_edge, &a.hull_face_start,
                                  &a.hull_loop_start, &a.hull_loop, &a.hull_vertex_face_start, &a.hull_vertex_face})
    table->clear();
  for (std::vector<double>* table : {&a.hull_vertex, &a.hull_face_normal, &a.field_height}) table->clear();
  return a;
}

}  // namespace

std::string special_model_header(const ModelArrays& given, const SpecialShape& shape) {
  const ModelArrays arrays = without_surfaces(given);
  const bool own_gravity = is_own(shape, WorldParameter::kGravityVector);
  std::string tables, members = words_of("ModelSizes", "sizes", arrays.sizes, true) +
                                words_of("ModelSettings", "settings", arrays.settings, !own_gravity);
  if (!is_own(shape, WorldParameter::kAppliedWrench))
    members += std::string("  static constexpr const double* applied_wrench = ") +
               (arrays.zero_wrench.empty() ? "nullptr" : "special::zero_wrench") + ";\n";
#define TOUCHSTONE_FIELD(name) add_table(tables, members, "int", #name, arrays.name);
  TOUCHSTONE_MODEL_INTS(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  const std::string taken = own_members(arrays.sizes, shape);
#define TOUCHSTONE_FIELD(name)                                     \
  if (taken.find("const double* " #name ";") == std::string::npos) \
    add_table(tables, members, "double", #name, arrays.name);
  TOUCHSTONE_MODEL_DOUBLES(TOUCHSTONE_FIELD)
#undef TOUCHSTONE_FIELD
  members += taken;
  std::string counts =
      pool_of("kSmallPool", shape.small) + pool_of("kRoomPool", shape.room) +
      "constexpr unsigned long long kRecordBytes = " + std::to_string(record_bytes(arrays.sizes, shape.room)) + ";\n";
  const StageLanes& lanes = shape.lanes;
  counts += stage_of<TreeStage>("Tree", lanes.tree, shape.room, arrays.sizes, shape) +
            stage_of<LoopStage>("Loop", lanes.loops, shape.room, arrays.sizes, shape) +
            stage_of<CollideStage>("Collide", lanes.collide, shape.room, arrays.sizes, shape) +
            stage_of<SolveStage>("Solve", lanes.solve, shape.small, arrays.sizes, shape) +
            stage_of<FinishStage>("Finish", lanes.finish, shape.small, arrays.sizes, shape);
  return "#pragma once\n"
         "#ifdef __CUDACC__\n"
         "#define TOUCHSTONE_TABLE __device__ constexpr\n"
         "#define TOUCHSTONE_TAKE __device__\n"
         "#else\n"
         "#define TOUCHSTONE_TABLE inline constexpr\n"
         "#define TOUCHSTONE_TAKE\n"
         "#endif\n"
         "namespace touchstone::gpu {\n"
         "namespace special {\n"
         "template <int kCount>\n"
         "struct Words {\n"
         "  unsigned words[kCount];\n"
         "};\n"
         "constexpr double kInfinite = __builtin_bit_cast(double, 0x7ff0000000000000ull);\n" +
         counts + tables +
         "}  // namespace special\n"
         "struct ModelView {\n" +
         members +
         "};\n"
         "}  // namespace touchstone::gpu\n";
}

CompiledProgram special_code(const ModelArrays& arrays, const SpecialShape& shape, const std::string& chip,
                             std::span<const EmbeddedFile> sources, const KernelCache& cache) {
  CompiledProgram result;
  const std::string compiler = runtime_compiler(result.problem);
  if (compiler.empty()) return result;
  const std::string program = "#include \"touchstone/gpu/cuda/special_program.cuh\"\n";
  const std::vector<std::string> options = {"--gpu-architecture=" + chip, "-std=c++20", "--use_fast_math",
                                            "-default-device", "-DTOUCHSTONE_SPECIAL_MODEL"};
  std::vector<NamedSource> all = small_library();
  all.push_back({"touchstone/gpu/special_model.hpp", special_model_header(arrays, shape)});
  for (const EmbeddedFile& file : sources)
    all.push_back({"touchstone/gpu/" + std::string(file.path), std::string(file.text)});
  KernelKey key;
  key.add(compiler);
  for (const std::string& option : options) key.add(option);
  for (const NamedSource& source : all) key.add(source.name), key.add(source.text);
  result.code = cache.find(key);
  if (!result.code.empty()) return result;
  result = compile_at_run_time(program, all, options);
  cache.store(key, result.code);
  return result;
}

}  // namespace touchstone::gpu
