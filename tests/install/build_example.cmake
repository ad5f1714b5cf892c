# Installs the SDK from BUILD, builds EXAMPLE against it in OUT, and looks at what came out.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${OUT})
run(${CMAKE_COMMAND} --install ${BUILD} --component sdk --prefix ${OUT}/sdk)

# Nothing but the SDK: no header, library or program of the scheduler.
file(GLOB_RECURSE installed RELATIVE ${OUT}/sdk ${OUT}/sdk/*)
foreach(file ${installed})
  if(NOT file MATCHES "^include/plimsoll/[a-z_]+\\.(h|hpp)$" AND
     NOT file MATCHES "/cmake/Plimsoll/(Plimsoll[A-Za-z]*\\.cmake|plimsoll_plugin\\.map)$")
    message(FATAL_ERROR "the SDK does not need ${file}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${OUT}/build -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${OUT}/sdk -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${OUT}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${OUT}/build --output-on-failure)

set(module ${OUT}/build/plugins/zone-balance.so)
run(${NM} -D --defined-only ${module})
string(STRIP "${output}" output)
if(NOT output MATCHES "^[0-9a-f]+ T plimsoll_plugin_create_v1$")
  message(FATAL_ERROR "the plugin must export plimsoll_plugin_create_v1 alone, but exports\n${output}")
endif()
run(${READELF} -dW ${module})
if(NOT output MATCHES "NOW" OR output MATCHES "TEXTREL|Plimsoll|plimsoll_")
  message(FATAL_ERROR "the plugin must bind at once, need no text relocation and no part of the "
    "scheduler:\n${output}")
endif()
