# The packages that the library needs. What a user must link is repeated in touchstone-config.cmake.in.

# A wheel takes along what it links, so it links as much as there is statically; auditwheel adds the rest.
if(TOUCHSTONE_STATIC_PACKAGES)
  set(HDF5_USE_STATIC_LIBRARIES ON)
  set(ZLIB_USE_STATIC_LIBS ON)
  find_library(PNG_LIBRARY_RELEASE NAMES libpng16.a libpng.a)
endif()

find_package(fmt REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(pugixml REQUIRED)
find_package(assimp REQUIRED)
find_package(PNG REQUIRED)
find_package(Qhull REQUIRED)
enable_language(C) # FindHDF5 compiles a C program
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
# Headers only, and only inside: who uses the library does not need them.
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(yaml-cpp REQUIRED)

# The reentrant C library; qhull builds that are static only name it otherwise.
if(TARGET Qhull::qhullstatic_r AND TOUCHSTONE_STATIC_PACKAGES)
  set(TOUCHSTONE_QHULL Qhull::qhullstatic_r)
elseif(TARGET Qhull::qhull_r)
  set(TOUCHSTONE_QHULL Qhull::qhull_r)
elseif(TARGET Qhull::qhullstatic_r)
  set(TOUCHSTONE_QHULL Qhull::qhullstatic_r)
else()
  message(FATAL_ERROR "The Qhull package has no reentrant library (qhull_r); install libqhull-dev 8.0 or newer")
endif()

# Named without a namespace before version 0.8.
if(TARGET yaml-cpp::yaml-cpp)
  set(TOUCHSTONE_YAML yaml-cpp::yaml-cpp)
else()
  set(TOUCHSTONE_YAML yaml-cpp)
endif()

# Prefers the static target of a package that does not ask which one is wanted.
if(TOUCHSTONE_STATIC_PACKAGES AND TARGET pugixml::static)
  set_target_properties(pugixml::pugixml PROPERTIES INTERFACE_LINK_LIBRARIES pugixml::static)
endif()
