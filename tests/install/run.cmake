# What the tests that build a plugin out of tree share.

# Runs a command that must succeed; what it printed is in `output`.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# One exported symbol, and nothing of the scheduler that it would need. Uses NM and READELF.
function(check_module module)
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
endfunction()
