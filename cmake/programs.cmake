# Executables above the library: programs, tests, benchmarks, fuzz targets.

# touchstone_program(<target> SOURCES <file>... [LINK <target>...] [PRECOMPILED <name>])
function(touchstone_program target)
  cmake_parse_arguments(arg "" "PRECOMPILED" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE touchstone_all touchstone_private_flags ${arg_LINK})
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(NOT arg_PRECOMPILED)
    set(arg_PRECOMPILED program)
  endif()
  touchstone_use_precompiled(${target} ${arg_PRECOMPILED})
endfunction()

# touchstone_programs(<prefix> <directory> [LINK <target>...]): one program for each source file,
# named after it; the prefix is not doubled.
function(touchstone_programs prefix directory)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${directory}/*.cpp")
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    if(NOT name MATCHES "^${prefix}")
      string(PREPEND name "${prefix}")
    endif()
    touchstone_program(${name} SOURCES ${source} LINK ${arg_LINK})
  endforeach()
endfunction()

# touchstone_test(<folder>): tests/<folder>/*_test.cpp become touchstone_test_<folder>.
function(touchstone_test folder)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  set(target touchstone_test_${folder})
  touchstone_program(${target} SOURCES ${sources} PRECOMPILED test
    LINK touchstone_test_flags touchstone_test_support GTest::gmock GTest::gtest GTest::gtest_main)
  gtest_discover_tests(${target}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${folder}."
    PROPERTIES TIMEOUT 600 ENVIRONMENT "TOUCHSTONE_DATA=${TOUCHSTONE_DATA}")
endfunction()
