# Installs the SDK from BUILD, builds its example against it in OUT, and looks at what came out.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${OUT})
run(${CMAKE_COMMAND} --install ${BUILD} --component sdk --prefix ${OUT}/sdk)

# Nothing but the SDK: no header, library or program of the scheduler.
file(GLOB_RECURSE installed RELATIVE ${OUT}/sdk ${OUT}/sdk/*)
foreach(file ${installed})
  if(NOT file MATCHES "^include/plimsoll/((detail|fake|services)/)?[a-z_]+\\.(h|hpp)$" AND
     NOT file MATCHES "^share/doc/plimsoll-dev/" AND
     NOT file MATCHES "/cmake/Plimsoll/(Plimsoll[A-Za-z]*\\.cmake|plimsoll_plugin\\.map)$")
    message(FATAL_ERROR "the SDK does not need ${file}")
  endif()
  if(file MATCHES "^include/")
    file(STRINGS ${OUT}/sdk/${file} foreign REGEX "^#include <[a-z_]+/" )
    list(FILTER foreign EXCLUDE REGEX "^#include <plimsoll/")
    if(foreign)
      message(FATAL_ERROR "the SDK needs the standard library alone, but ${file} has ${foreign}")
    endif()
  endif()
endforeach()

set(documents ${OUT}/sdk/share/doc/plimsoll-dev)
foreach(file sdk.md plugins.md simulation.md examples/label-score-rust/src/lib.rs)
  if(NOT EXISTS ${documents}/${file})
    message(FATAL_ERROR "the SDK lacks ${file}")
  endif()
endforeach()

function(build folder out)
  run(${CMAKE_COMMAND} -S ${folder} -B ${out} -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${OUT}/sdk -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  run(${CMAKE_COMMAND} --build ${out})
endfunction()
build(${documents}/examples/zone-balance ${OUT}/build)
file(STRINGS ${OUT}/build/CMakeCache.txt build_type REGEX "^CMAKE_BUILD_TYPE:")
if(NOT build_type MATCHES "=RelWithDebInfo$")
  message(FATAL_ERROR "without a build type a plugin is built without optimising: ${build_type}")
endif()
run(${CMAKE_CTEST_COMMAND} --test-dir ${OUT}/build --output-on-failure)
check_module(${OUT}/build/plugins/zone-balance.so)

# The project that plugins.md begins with, as it stands there.
file(READ ${documents}/plugins.md page)
foreach(pair "cmake;CMakeLists.txt" "cpp;seats.cpp")
  list(GET pair 0 language)
  list(GET pair 1 file)
  string(REGEX MATCH "```${language}\n([^`]*)```" example "${page}")
  file(WRITE ${OUT}/seats/${file} "${CMAKE_MATCH_1}")
endforeach()
build(${OUT}/seats ${OUT}/seats/build)
check_module(${OUT}/seats/build/plugins/seats.so)
