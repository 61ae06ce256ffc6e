# Installation and the package that find_package(touchstone) finds.

include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY TOUCHSTONE_LAYERS)
set(targets touchstone_all touchstone_interface_flags)
foreach(layer IN LISTS layers)
  list(APPEND targets touchstone_${layer})
  install(DIRECTORY src/${layer}/ DESTINATION include/touchstone/${layer} FILES_MATCHING PATTERN "*.hpp")
endforeach()
set_target_properties(touchstone_interface_flags PROPERTIES EXPORT_NAME flags)

set(package_directory lib/cmake/touchstone)
install(TARGETS ${targets} EXPORT touchstone-targets ARCHIVE DESTINATION lib)
install(EXPORT touchstone-targets NAMESPACE touchstone:: DESTINATION ${package_directory})
configure_package_config_file(cmake/touchstone-config.cmake.in touchstone-config.cmake
  INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(touchstone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/touchstone-config.cmake" "${PROJECT_BINARY_DIR}/touchstone-config-version.cmake"
  DESTINATION ${package_directory})
