# Installs the programs into a folder of their own, and runs them from there: cmake -DBUILD=... -DOUT=... -DSAMPLE=... -P
file(REMOVE_RECURSE ${OUT})
set(ENV{DESTDIR} ${OUT})
foreach(component scheduler node)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix /usr --component ${component}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
unset(ENV{DESTDIR})

# The shell's word for `plimsoll plugins lint --se` and Tab.
execute_process(COMMAND bash -c "source ${OUT}/usr/share/bash-completion/completions/plimsoll
    COMP_WORDS=(plimsoll plugins lint --se) COMP_CWORD=3; _plimsoll; echo \"\${COMPREPLY[@]}\""
  OUTPUT_VARIABLE offered OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT offered STREQUAL "--seed")
  message(FATAL_ERROR "completion offers \"${offered}\"")
endif()
foreach(file zsh/vendor-completions/_plimsoll fish/vendor_completions.d/plimsoll.fish)
  file(READ ${OUT}/usr/share/${file} script)
  if(NOT script MATCHES "seed")
    message(FATAL_ERROR "${file} does not know --seed:\n${script}")
  endif()
endforeach()
execute_process(COMMAND ${OUT}/usr/bin/plimsoll-node --version OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OUT}/usr/bin/plimsoll plugins OUTPUT_VARIABLE plugins COMMAND_ERROR_IS_FATAL ANY)
foreach(plugin NodeResourceTopologyMatch TopologyScore NodeDevice)
  string(FIND "${plugins}" "${OUT}/usr/lib/plimsoll/plugins/${plugin}.so" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${plugin} is not loaded from where it is installed:\n${plugins}")
  endif()
endforeach()
file(GLOB_RECURSE profile ${OUT}/profile.yaml)
execute_process(COMMAND ${OUT}/usr/bin/plimsoll simulate --config ${profile} --cluster ${SAMPLE}/cluster.yaml
    --pods ${SAMPLE}/pods.yaml --expect ${SAMPLE}/expected.yaml
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
