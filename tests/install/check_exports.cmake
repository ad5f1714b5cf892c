# Every plugin of DIR exports its create function and nothing else, and shares no symbol.
file(GLOB modules ${DIR}/*.so)
list(LENGTH modules count)
if(count EQUAL 0)
  message(FATAL_ERROR "no plugin in ${DIR}: build the tree first")
endif()
foreach(module ${modules})
  execute_process(COMMAND ${NM} -D --defined-only ${module} OUTPUT_VARIABLE symbols
    RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0 OR NOT symbols MATCHES "^[0-9a-f]+ T plimsoll_plugin_create_v1$")
    message(FATAL_ERROR "${module} must export plimsoll_plugin_create_v1 alone, but exports\n${symbols}")
  endif()
endforeach()
message(STATUS "${count} plugins looked at")
