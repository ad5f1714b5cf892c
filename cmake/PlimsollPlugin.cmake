# plimsoll_add_plugin(NAME SOURCES... [LIBS...]): builds NAME.so, a Plimsoll plugin, into
# PLIMSOLL_PLUGIN_DIR (default: <build>/plugins).
#
# Exactly one symbol is exported and the module links no part of the scheduler: what it asks of it
# comes through the host table. Works in Plimsoll's own tree and, after find_package(Plimsoll), in
# any other. LIBS that are linked in statically stay private to the module.

set(PLIMSOLL_PLUGIN_MODULE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(plimsoll_add_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "plimsoll_add_plugin(${name}): name the source files after SOURCES")
  endif()
  if(NOT PLIMSOLL_PLUGIN_DIR)
    set(PLIMSOLL_PLUGIN_DIR ${CMAKE_BINARY_DIR}/plugins)
  endif()
  set(exports ${PLIMSOLL_PLUGIN_MODULE_DIR}/plimsoll_plugin.map)

  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE Plimsoll::sdk ${ARG_LIBS})
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so"
    LIBRARY_OUTPUT_DIRECTORY ${PLIMSOLL_PLUGIN_DIR}
    CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS ${exports})
  if(PLIMSOLL_WARNINGS)
    target_compile_options(${name} PRIVATE ${PLIMSOLL_WARNINGS})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A unique symbol would be shared between modules whatever their visibility.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
  target_link_options(${name} PRIVATE
    -Wl,--version-script=${exports} -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,-Bsymbolic
    -Wl,--build-id=sha1)
  # A symbol that nobody provides is an error here, not when the scheduler starts. Sanitizers leave
  # their own run-time library to the program, so with them the check cannot be made.
  set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS} ${PLIMSOLL_SANITIZE}")
  if(NOT PLIMSOLL_SANITIZE AND NOT flags MATCHES "-fsanitize=")
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
