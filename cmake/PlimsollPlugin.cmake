# plimsoll_add_plugin(NAME SOURCES... [LIBS...]): builds NAME.so, a Plimsoll plugin.
# Exactly one symbol is exported, nothing is left undefined, and the module links no part of the scheduler.
function(plimsoll_add_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
endfunction()
