# How everything in the tree is compiled, and the functions that folders use.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# What no other file can see is put where it is called, or left out: an eighth of the compiler's time, and faster code.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(PLIMSOLL_PLUGIN_DIR ${CMAKE_BINARY_DIR}/plugins)
# What tests are told of paths is relative to the source folder, where they run: an absolute path would keep ccache from
# finding what another clone has compiled.
file(RELATIVE_PATH PLIMSOLL_BUILD_PATH ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

find_program(PLIMSOLL_CCACHE ccache)
if(PLIMSOLL_CCACHE)
  # Without these two words ccache takes nothing that is compiled with a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PLIMSOLL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Several files are compiled as one, which takes less than half the time; a change then compiles its neighbours
# again, so the debug preset goes without, and finds what leans on a neighbour's #include.
option(PLIMSOLL_UNITY "Compile the sources of a target a few at a time" ON)
set(PLIMSOLL_UNITY_SIZE 12)
if(PLIMSOLL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>) # a class's Impl in a .cpp is no header's
endif()

# plimsoll_unite(FOLDER): replaces the sources of the targets of this folder, and of those below, by files that include
# a few of them each. The last call of the tree. CMake's own UNITY_BUILD writes absolute paths into these files: then
# ccache has to preprocess them before it finds what another clone has compiled.
function(plimsoll_unite folder)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each ${below})
    plimsoll_unite(${each})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(apart ${target} PLIMSOLL_APART)
    get_target_property(sources ${target} SOURCES)
    if(apart OR NOT sources OR NOT type MATCHES "EXECUTABLE|LIBRARY$" OR type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(binary_dir ${target} BINARY_DIR)
    set(alone)
    set(together)
    foreach(source ${sources})
      if(NOT source MATCHES "\\.cpp$" OR source MATCHES "^\\$<")
        list(APPEND alone ${source})
        continue()
      endif()
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
      get_source_file_property(options ${source} DIRECTORY ${folder} COMPILE_OPTIONS)
      get_source_file_property(definitions ${source} DIRECTORY ${folder} COMPILE_DEFINITIONS)
      if(options OR definitions)
        list(APPEND alone ${source})
      else()
        list(APPEND together ${source})
      endif()
    endforeach()
    list(LENGTH together count)
    if(count LESS 2)
      continue()
    endif()
    set(number 0)
    while(together)
      set(text)
      list(SUBLIST together 0 ${PLIMSOLL_UNITY_SIZE} batch)
      list(REMOVE_ITEM together ${batch})
      foreach(source ${batch})
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
        string(APPEND text "#include \"${source}\"\n")
      endforeach()
      set(file ${binary_dir}/united/${target}_${number}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      list(APPEND alone ${file})
      math(EXPR number "${number} + 1")
    endwhile()
    set_property(TARGET ${target} PROPERTY SOURCES ${alone})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  endforeach()
endfunction()

set(PLIMSOLL_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")
option(PLIMSOLL_FUZZ "Build the fuzz targets (clang): code says which of its branches an input takes" OFF)
if(PLIMSOLL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined)
endif()
if(PLIMSOLL_SANITIZE)
  add_compile_options(-fsanitize=${PLIMSOLL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PLIMSOLL_SANITIZE})
  if(PLIMSOLL_SANITIZE MATCHES "address")
    # Compiles little longer than -O0 and runs in half the time. ThreadSanitizer gains nothing by it.
    string(REPLACE -O0 -Og CMAKE_CXX_FLAGS_DEBUG "${CMAKE_CXX_FLAGS_DEBUG}")
  endif()
  if(PLIMSOLL_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan) # Asio uses atomic_thread_fence, which ThreadSanitizer does not model
  endif()
  # Sanitized code confuses GCC 12's analysis of it: this warning is then wrong inside <regex>.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()

# What Debian's hardening asks for, beyond position-independent code. And no path of the build folder in what is built,
# so that two builds of one commit are the same.
option(PLIMSOLL_HARDEN "Harden what is built, as packages are" OFF)
if(PLIMSOLL_HARDEN)
  # Paths as ccache names them, which makes them relative to the build folder; the last that fits counts. Debug
  # information has more of them. It would be stripped, but the build id is computed with it.
  file(RELATIVE_PATH to_source ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  add_compile_options(-g0 -fstack-protector-strong -fstack-clash-protection -fcf-protection -D_FORTIFY_SOURCE=2
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=${to_source} -ffile-prefix-map=${CMAKE_BINARY_DIR}/=)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,--build-id=sha1)
endif()

# Of folders that decide nothing for a pod: a third of the compiler's time less, and a speed that nobody waits for.
set(PLIMSOLL_TOOLS $<$<CONFIG:Release>:-O1>)

# They are errors in CI only (./test): a newer compiler's new warning must not keep a user from building.
set(PLIMSOLL_WARNINGS -Wall -Wextra -Wnon-virtual-dtor -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND PLIMSOLL_WARNINGS -Wshadow=local) # Clang's -Wshadow is about members too
endif()

# plimsoll_library(NAME SOURCES... [LIBS...] [PRIVATE_LIBS...]): a static library that is part of the scheduler.
# It is included from the root of the tree: #include "framework/api/quantity.hpp". PRIVATE_LIBS: what its headers do
# not show.
function(plimsoll_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;PRIVATE_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${PLIMSOLL_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
endfunction()

# plimsoll_program(NAME SOURCES... [LIBS...])
function(plimsoll_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${PLIMSOLL_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS})
endfunction()

# What ThreadSanitizer has something to say about: tests with the label "threads".
add_custom_target(tests_with_threads)
# What AddressSanitizer runs: all but the tests against a real API server and of the installed SDK.
add_custom_target(tests_without_cluster)
# What draws its cases (plimsoll_random).
add_custom_target(tests_random)

# A test's own code is compiled without optimisation, and is not itself searched for undefined behaviour: that takes
# half the time.
set(PLIMSOLL_TEST_OPTIONS -O0)
if(PLIMSOLL_SANITIZE MATCHES "undefined")
  list(APPEND PLIMSOLL_TEST_OPTIONS -fno-sanitize=undefined)
endif()

# plimsoll_test(NAME LABEL unit [threads] SOURCES... [LIBS...] [TIMEOUT seconds] [OPTIMISED]): a
# GoogleTest program. It is one ctest entry; its working directory is the root of the tree, so that fixtures are
# found. OPTIMISED: compiled like the product, for tests that compute much themselves or compile a plugin's sources.
function(plimsoll_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "TIMEOUT" "LABEL;SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${PLIMSOLL_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE ${PLIMSOLL_TEST_OPTIONS})
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 240)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "PLIMSOLL_BIN_DIR=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};PLIMSOLL_PLUGIN_DIR=${PLIMSOLL_PLUGIN_DIR}")
  if("threads" IN_LIST ARG_LABEL)
    add_dependencies(tests_with_threads ${name})
  endif()
  if(NOT "kube" IN_LIST ARG_LABEL AND NOT "install" IN_LIST ARG_LABEL)
    add_dependencies(tests_without_cluster ${name})
  endif()
endfunction()

# plimsoll_random(TEST...): tests that draw their cases. They get the seed to begin with (tests/support/seed.hpp), and
# the label by which tests/campaign finds them.
function(plimsoll_random)
  foreach(name ${ARGN})
    target_link_libraries(${name} PRIVATE plimsoll_test_seed)
    set_property(TEST ${name} APPEND PROPERTY LABELS random)
    add_dependencies(tests_random ${name})
  endforeach()
endfunction()
