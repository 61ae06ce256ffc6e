# The packages that the library needs. What a user must link is repeated in touchstone-config.cmake.in.

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
if(TARGET Qhull::qhull_r)
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

# A wheel takes along what it links: HDF5 inside, and auditwheel adds the others.
if(TOUCHSTONE_STATIC_PACKAGES)
  include(static_hdf5)
  touchstone_static_hdf5()
endif()
