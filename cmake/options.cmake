# What can be chosen, and the compiler flags that follow from it.

include(CMakeDependentOption)

option(TOUCHSTONE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TOUCHSTONE_BUILD_APPS "Build the command line" ${PROJECT_IS_TOP_LEVEL})
option(TOUCHSTONE_BUILD_BENCH "Build the benchmarks" OFF)
option(TOUCHSTONE_BUILD_PYTHON "Build the Python extension; Python_EXECUTABLE must have nanobind" OFF)
option(TOUCHSTONE_STATIC_PACKAGES "Link HDF5 statically (for wheels)" OFF)
option(TOUCHSTONE_BUILD_FUZZ "Build the fuzz targets (clang)" OFF)
cmake_dependent_option(TOUCHSTONE_PEERS "Build the benchmarks of other engines (bench/peers)" OFF
                       "TOUCHSTONE_BUILD_BENCH" OFF)
option(TOUCHSTONE_WERROR "Turn warnings into errors" OFF)
set(TOUCHSTONE_ARCH "x86-64-v3" CACHE STRING
    "Instruction set: x86-64-v3 (AVX2 and FMA), native, x86-64; ignored on other processors")
set_property(CACHE TOUCHSTONE_ARCH PROPERTY STRINGS x86-64-v3 native x86-64)
set(TOUCHSTONE_WEB_BUNDLE "${PROJECT_SOURCE_DIR}/build/web" CACHE PATH
    "Folder with viewer.html, made by 'npm run build' in web/; may be absent")
option(TOUCHSTONE_BUILD_WEB "Make viewer.html with npm when it is missing (pip install)" OFF)
set(TOUCHSTONE_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

if(NOT TOUCHSTONE_ARCH MATCHES "^(x86-64-v3|native|x86-64)$")
  message(FATAL_ERROR "TOUCHSTONE_ARCH is '${TOUCHSTONE_ARCH}'; choose x86-64-v3, native or x86-64")
endif()
if(CMAKE_SIZEOF_VOID_P LESS 8)
  message(FATAL_ERROR "Touchstone needs a 64-bit target")
endif()

set(TOUCHSTONE_ON_X86 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(TOUCHSTONE_ON_X86 TRUE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  find_program(TOUCHSTONE_CCACHE ccache)
  if(TOUCHSTONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What is compiled in one clone serves another one too; precompiled headers need the sloppiness.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros "${TOUCHSTONE_CCACHE}")
  endif()
  if(TOUCHSTONE_SANITIZE)
    set(sanitize "-fsanitize=${TOUCHSTONE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_compile_options(${sanitize})
    add_link_options(${sanitize})
  endif()
  if(TOUCHSTONE_BUILD_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

# Flags that must agree between the library and whoever links it, because they decide how Eigen
# aligns and vectorises: one alignment for every instruction set, and the set itself.
add_library(touchstone_interface_flags INTERFACE)
target_compile_features(touchstone_interface_flags INTERFACE cxx_std_20)
target_compile_definitions(touchstone_interface_flags INTERFACE EIGEN_MAX_ALIGN_BYTES=32)
target_compile_options(touchstone_interface_flags INTERFACE -Wno-psabi)
if(TOUCHSTONE_ON_X86)
  target_compile_options(touchstone_interface_flags INTERFACE -march=${TOUCHSTONE_ARCH})
endif()

# Flags of our own targets only. IEEE arithmetic stays as it is, except that a*b+c may be fused.
add_library(touchstone_private_flags INTERFACE)
target_compile_options(touchstone_private_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers  # our structs have defaults
  -fno-math-errno -fno-trapping-math -ffp-contract=fast
  # g++ 12 reports these falsely: inside Eigen, and the last two for designated initialisers and strings, where clang
  # sees the true ones.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-maybe-uninitialized;-Wno-restrict>
  $<$<BOOL:${TOUCHSTONE_WERROR}>:-Werror>)
# Not for consumers: a Debug build is for us, and all its parts are compiled together.
target_compile_definitions(touchstone_private_flags INTERFACE
  $<$<CONFIG:Debug>:EIGEN_INITIALIZE_MATRICES_BY_NAN;_GLIBCXX_ASSERTIONS>)
