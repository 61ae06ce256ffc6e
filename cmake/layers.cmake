# One static library for each folder of src/, and nothing but its declared dependencies in sight.
#
# Includes read "touchstone/<folder>/<file>". Each folder has an include root of its own that holds
# only touchstone/<folder>, so that an include against the arrows does not compile.

set_property(GLOBAL PROPERTY TOUCHSTONE_LAYERS "")

# touchstone_layer(<folder> [NEEDS <folder>...] [PUBLIC <package target>...] [PRIVATE ...] [SOURCES ...]
#                  [TOGETHER])
#
# A folder that does not exist is skipped, also as a dependency; one without sources becomes an
# interface library. SOURCES adds generated files; TOGETHER compiles files in groups
# (precompile.cmake): for layers that no step depends on.
function(touchstone_layer folder)
  cmake_parse_arguments(arg "TOGETHER" "" "NEEDS;PUBLIC;PRIVATE;SOURCES" ${ARGN})
  set(directory "${PROJECT_SOURCE_DIR}/src/${folder}")
  if(NOT IS_DIRECTORY "${directory}")
    return()
  endif()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${directory}/*.cpp")
  list(APPEND sources ${arg_SOURCES})
  set_source_files_properties(${arg_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # clang-tidy runs before they exist
  set(target touchstone_${folder})
  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:touchstone_private_flags> ${arg_PRIVATE})
    set_target_properties(${target} PROPERTIES
      POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF EXPORT_NAME ${folder})
    if(NOT folder MATCHES "^(base|gpu)$") # they must do without Eigen; part of base runs on any processor
      touchstone_use_precompiled(${target} library)
    endif()
    if(arg_TOGETHER)
      touchstone_compile_together(${target})
    elseif(NOT folder STREQUAL "base")
      touchstone_compile_together(${target} COMPUTES)
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PRIVATE})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  endif()
  add_library(touchstone::${folder} ALIAS ${target})

  set(include_root "${PROJECT_BINARY_DIR}/include/${folder}")
  file(MAKE_DIRECTORY "${include_root}/touchstone")
  file(CREATE_LINK "${directory}" "${include_root}/touchstone/${folder}" SYMBOLIC)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${include_root}>" "$<INSTALL_INTERFACE:include>")

  target_link_libraries(${target} ${scope} touchstone_interface_flags ${arg_PUBLIC})
  foreach(need IN LISTS arg_NEEDS)
    if(TARGET touchstone_${need})
      target_link_libraries(${target} ${scope} touchstone_${need})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TOUCHSTONE_LAYERS ${folder})
endfunction()

# The target that links every layer: touchstone::touchstone.
function(touchstone_umbrella)
  get_property(layers GLOBAL PROPERTY TOUCHSTONE_LAYERS)
  add_library(touchstone_all INTERFACE)
  set_target_properties(touchstone_all PROPERTIES EXPORT_NAME touchstone)
  add_library(touchstone::touchstone ALIAS touchstone_all)
  foreach(layer IN LISTS layers)
    target_link_libraries(touchstone_all INTERFACE touchstone_${layer})
  endforeach()
endfunction()
