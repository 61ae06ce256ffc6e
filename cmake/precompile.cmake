# Headers of other people that nearly every file reads (Eigen, fmt, the standard library) are compiled once: reading them
# was a large part of a build. They hold nothing of ours, so a change of ours never makes them anew.
#
# A file still includes what it uses; the thread-sanitizer preset builds without precompiled headers and proves it.

option(TOUCHSTONE_PRECOMPILE "Compile the headers of other packages once" ON)

set(TOUCHSTONE_PRECOMPILED_COMMON
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstdlib> <cstring> <deque> <filesystem> <fstream> <functional> <limits>
  <map> <memory> <numbers> <numeric> <optional> <random> <set> <span> <sstream> <string> <string_view> <unordered_map>
  <utility> <vector> <fmt/format.h> <Eigen/Core> <Eigen/Geometry>)

# touchstone_precompiled(<name> LINK <target>... [HEADERS <header>...] [PIC]): a set of precompiled headers, the common ones
# and the named ones, for targets that link the same packages.
function(touchstone_precompiled name)
  cmake_parse_arguments(arg "PIC" "" "LINK;HEADERS" ${ARGN})
  if(NOT TOUCHSTONE_PRECOMPILE)
    return()
  endif()
  set(target touchstone_precompiled_${name})
  set(source "${PROJECT_BINARY_DIR}/generated/precompiled_${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Carries the precompiled headers '${name}'.\n")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${target} PRIVATE touchstone_interface_flags touchstone_private_flags fmt::fmt Eigen3::Eigen
    Threads::Threads ${arg_LINK})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(arg_PIC)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_precompile_headers(${target} PRIVATE ${TOUCHSTONE_PRECOMPILED_COMMON} ${arg_HEADERS})
endfunction()

# touchstone_use_precompiled(<target> <name>): the target's files begin with that set, where there is one.
function(touchstone_use_precompiled target name)
  if(TARGET touchstone_precompiled_${name})
    target_precompile_headers(${target} REUSE_FROM touchstone_precompiled_${name})
  endif()
endfunction()

# Most of what is left of a file's time goes into templates of Eigen, fmt and JSON that its neighbours need as well. Where
# speed of a step does not depend on it, some files of a folder are compiled as one. Not in the layers that compute: what
# is inlined into what, and so the last bit of a result, must not depend on a file's neighbours.

set(TOUCHSTONE_UNITY ON CACHE STRING
    "Compile some files of a folder as one: ON but for the layers that compute, ALL of them (sanitizers), OFF")
set_property(CACHE TOUCHSTONE_UNITY PROPERTY STRINGS ON ALL OFF)

# touchstone_compile_together(<target> [COMPUTES]): its files are compiled in groups.
function(touchstone_compile_together target)
  if(TOUCHSTONE_UNITY STREQUAL "ALL" OR (TOUCHSTONE_UNITY AND NOT "COMPUTES" IN_LIST ARGN))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
