# Every library that Plimsoll uses; docs/dependencies.md says why each one is here.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED) # headers only
find_package(CURL 7.88 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson 3.0 REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED) # headers only, without a package file
find_package(prometheus-cpp REQUIRED) # only its core is linked
find_package(spdlog 1.10 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2>=1.52)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.9)
pkg_check_modules(RE2 REQUIRED re2)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_library(TCMALLOC_MINIMAL tcmalloc_minimal REQUIRED)
if(PLIMSOLL_TESTS)
  find_package(GTest 1.12 REQUIRED)
endif()

# The allocator of programs that schedule. Sanitizers bring their own.
add_library(plimsoll_malloc INTERFACE)
if(NOT PLIMSOLL_SANITIZE)
  target_link_libraries(plimsoll_malloc INTERFACE ${TCMALLOC_MINIMAL})
endif()
