# HDF5 inside a Python extension (TOUCHSTONE_STATIC_PACKAGES).
#
# Debian's shared HDF5 drags along curl, Kerberos and LDAP, and two HDF5 in one process (h5py has its own) must not see
# each other. Its static one is compiled for programs: it may go into a shared library except that it takes the address
# of stderr and its like as if they were its own. So a copy of the archive gets other names for them, which
# standard_streams.c defines.
function(touchstone_static_hdf5)
  find_library(TOUCHSTONE_HDF5_ARCHIVE NAMES libhdf5_serial.a libhdf5.a PATH_SUFFIXES hdf5/serial)
  find_library(TOUCHSTONE_SZ_ARCHIVE NAMES libsz.a)
  find_library(TOUCHSTONE_AEC_ARCHIVE NAMES libaec.a)
  if(NOT TOUCHSTONE_HDF5_ARCHIVE OR NOT TOUCHSTONE_SZ_ARCHIVE OR NOT TOUCHSTONE_AEC_ARCHIVE OR NOT CMAKE_OBJCOPY)
    message(STATUS "No static HDF5 with its libraries: linking the shared one")
    return()
  endif()
  set(archive "${PROJECT_BINARY_DIR}/generated/libhdf5_inside.a")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated")
  set(renames "")
  foreach(stream stdin stdout stderr)
    list(APPEND renames --redefine-sym ${stream}=touchstone_${stream})
  endforeach()
  execute_process(COMMAND "${CMAKE_OBJCOPY}" ${renames} "${TOUCHSTONE_HDF5_ARCHIVE}" "${archive}"
    COMMAND_ERROR_IS_FATAL ANY)
  add_library(touchstone_standard_streams STATIC "${PROJECT_SOURCE_DIR}/cmake/standard_streams.c")
  set_target_properties(touchstone_standard_streams PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_target_properties(hdf5::hdf5 PROPERTIES IMPORTED_LOCATION "${archive}" INTERFACE_LINK_LIBRARIES
    "touchstone_standard_streams;${TOUCHSTONE_SZ_ARCHIVE};${TOUCHSTONE_AEC_ARCHIVE};ZLIB::ZLIB;m;${CMAKE_DL_LIBS}")
endfunction()
