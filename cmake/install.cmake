# Installation and the package that find_package(touchstone) finds.

include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY TOUCHSTONE_LAYERS)
set(targets touchstone_all touchstone_interface_flags)
foreach(layer IN LISTS layers)
  list(APPEND targets touchstone_${layer})
endforeach()
set_target_properties(touchstone_interface_flags PROPERTIES EXPORT_NAME flags)

# The public headers, and what they include in turn.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/public_headers.txt)
file(STRINGS cmake/public_headers.txt waiting REGEX "^[a-z]")
set(public_headers "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST public_headers)
    continue()
  endif()
  list(APPEND public_headers ${header})
  file(STRINGS src/${header} includes REGEX "^#include \"touchstone/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*\"touchstone/([^\"]+)\".*" "\\1" include "${include}")
    list(APPEND waiting ${include})
  endforeach()
endwhile()
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/${header} DESTINATION include/touchstone/${folder})
endforeach()

set(package_directory lib/cmake/touchstone)
install(TARGETS ${targets} EXPORT touchstone-targets ARCHIVE DESTINATION lib)
install(EXPORT touchstone-targets NAMESPACE touchstone:: DESTINATION ${package_directory})
configure_package_config_file(cmake/touchstone-config.cmake.in touchstone-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(touchstone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/touchstone-config.cmake" "${PROJECT_BINARY_DIR}/touchstone-config-version.cmake"
  DESTINATION ${package_directory})
