# Installs the programs into a folder of their own, and runs them from there: cmake -DBUILD=... -DOUT=... -DSAMPLE=... -P
file(REMOVE_RECURSE ${OUT})
set(ENV{DESTDIR} ${OUT})
foreach(component scheduler lab node)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix /usr --component ${component}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
unset(ENV{DESTDIR})

# With a prefix: nothing outside it, and units that name what is there.
set(own ${OUT}/own)
foreach(component scheduler lab node)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${own} --component ${component}
    OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${BUILD}/install_manifest_${component}.txt installed)
  foreach(file ${installed})
    cmake_path(IS_PREFIX own ${file} inside)
    if(NOT inside)
      message(FATAL_ERROR "--prefix ${own} wrote ${file}")
    endif()
  endforeach()
  if(NOT said MATCHES "man1/|No manual page")
    message(FATAL_ERROR "there is no manual page, and nobody says why:\n${said}")
  endif()
endforeach()
foreach(service plimsoll plimsoll-node)
  file(READ ${own}/lib/systemd/system/${service}.service unit)
  string(REGEX MATCHALL "${own}/[^ \n]+" named "${unit}")
  foreach(file ${named})
    if(NOT EXISTS ${file} AND NOT file MATCHES "kubeconfig$") # that is the operator's
      message(FATAL_ERROR "${service}.service names ${file}, which is not installed")
    endif()
  endforeach()
  if(NOT unit MATCHES "ExecStart=${own}/bin/" OR unit MATCHES "[ =:](/usr/bin|/etc/plimsoll)/")
    message(FATAL_ERROR "${service}.service is about another place:\n${unit}")
  endif()
endforeach()
# An operator's profile stays.
file(WRITE ${own}/etc/plimsoll/profile.yaml "mine")
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${own} --component scheduler
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${own}/etc/plimsoll/profile.yaml profile)
if(NOT profile STREQUAL "mine")
  message(FATAL_ERROR "the profile was replaced")
endif()
file(REMOVE_RECURSE ${own})

# The shell's word for `plimsoll-lab lint --se` and Tab.
execute_process(COMMAND bash -c "source ${OUT}/usr/share/bash-completion/completions/plimsoll-lab
    COMP_WORDS=(plimsoll-lab lint --se) COMP_CWORD=2; _plimsoll-lab; echo \"\${COMPREPLY[@]}\""
  OUTPUT_VARIABLE offered OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT offered STREQUAL "--seed")
  message(FATAL_ERROR "completion offers \"${offered}\"")
endif()
foreach(file zsh/vendor-completions/_plimsoll-lab fish/vendor_completions.d/plimsoll-lab.fish)
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
# Without the laboratory the scheduler says what is missing.
file(REMOVE ${OUT}/usr/bin/plimsoll-lab)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=/nowhere ${OUT}/usr/bin/plimsoll simulate --config ${profile}
  RESULT_VARIABLE status ERROR_VARIABLE said)
if(NOT status EQUAL 1 OR NOT said MATCHES "plimsoll-lab")
  message(FATAL_ERROR "without plimsoll-lab it ends with ${status} and says:\n${said}")
endif()
