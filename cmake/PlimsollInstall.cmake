# What `cmake --install` and the Debian packages contain. Components: scheduler (package plimsoll), lab (plimsoll-lab),
# node (plimsoll-node) and sdk (plimsoll-dev; framework/sdk/CMakeLists.txt).
include(GNUInstallDirs)

# Pages and completions come from the programs themselves, so that they name every option.
set(made ${CMAKE_BINARY_DIR}/packaging)
file(MAKE_DIRECTORY ${made})
foreach(program plimsoll plimsoll-lab)
  set(completions ${made}/${program}.bash ${made}/_${program} ${made}/${program}.fish)
  list(APPEND generated ${completions})
  add_custom_command(OUTPUT ${completions} DEPENDS ${program}
    COMMAND ${program} completion bash > ${made}/${program}.bash
    COMMAND ${program} completion zsh > ${made}/_${program}
    COMMAND ${program} completion fish > ${made}/${program}.fish)
  set(component scheduler)
  if(program STREQUAL plimsoll-lab)
    set(component lab)
  endif()
  install(FILES ${made}/${program}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program}
    COMPONENT ${component})
  install(FILES ${made}/_${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT ${component})
  install(FILES ${made}/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT ${component})
endforeach()
find_program(HELP2MAN help2man)
if(HELP2MAN)
  foreach(program plimsoll kubectl-plimsoll plimsoll-lab plimsoll-node)
    set(help --help-all)
    set(target plimsoll)
    if(program STREQUAL plimsoll-node)
      set(help --help)
    endif()
    if(NOT program STREQUAL kubectl-plimsoll)
      set(target ${program})
    endif()
    add_custom_command(OUTPUT ${made}/${program}.1.gz DEPENDS ${target} ${CMAKE_SOURCE_DIR}/packaging/${program}.h2m
      COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=0 ${HELP2MAN} --no-info --help-option=${help} --source=Plimsoll
        --include=${CMAKE_SOURCE_DIR}/packaging/${program}.h2m --output=${made}/${program}.1 $<TARGET_FILE_DIR:${target}>/${program}
      COMMAND gzip -9nf ${made}/${program}.1)
    list(APPEND generated ${made}/${program}.1.gz)
  endforeach()
endif()
add_custom_target(plimsoll_package_files ALL DEPENDS ${generated})

# plimsoll_install_service(COMPONENT UNIT [PROFILE]): see install_service.cmake.
function(plimsoll_install_service component unit)
  set(profile)
  if(ARGN)
    set(profile ${CMAKE_SOURCE_DIR}/${ARGN})
  endif()
  install(CODE "set(unit ${CMAKE_SOURCE_DIR}/packaging/${unit})
  set(profile ${profile})
  set(made ${made}/${component})
  set(bindir ${CMAKE_INSTALL_BINDIR})
  set(sysconfdir ${CMAKE_INSTALL_SYSCONFDIR})" COMPONENT ${component})
  install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/install_service.cmake COMPONENT ${component})
endfunction()

install(TARGETS plimsoll RUNTIME COMPONENT scheduler)
# The name under which kubectl finds it (cli/ask/kubectl_main.hpp).
install(FILES $<TARGET_FILE_DIR:plimsoll>/kubectl-plimsoll DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT scheduler)
# Where the program looks for them: ../lib/plimsoll/plugins (cli/run/wiring.cpp).
install(TARGETS NodeResourceTopologyMatch TopologyScore NodeDevice
  LIBRARY DESTINATION lib/plimsoll/plugins COMPONENT scheduler)
plimsoll_install_service(scheduler plimsoll.service examples/profiles/topology.yaml)
install(DIRECTORY examples/profiles deploy/crds DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/plimsoll/examples
  COMPONENT scheduler)
install(FILES deploy/base/rbac.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/plimsoll/examples COMPONENT scheduler)

install(TARGETS plimsoll-lab RUNTIME COMPONENT lab)
install(TARGETS plimsoll-node RUNTIME COMPONENT node)
plimsoll_install_service(node plimsoll-node.service)
if(HELP2MAN)
  install(FILES ${made}/plimsoll.1.gz ${made}/kubectl-plimsoll.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT scheduler)
  install(FILES ${made}/plimsoll-lab.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT lab)
  install(FILES ${made}/plimsoll-node.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT node)
else()
  foreach(component scheduler lab node)
    install(CODE "message(STATUS \"No manual page: it takes help2man when the build is configured (apt-get install help2man)\")"
      COMPONENT ${component})
  endforeach()
endif()

# ---- Debian packages: scripts/package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plimsoll)
set(CPACK_PACKAGE_CONTACT "The Plimsoll developers <plimsoll@example.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each component says what it is in its first line
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL scheduler lab node sdk)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_SCHEDULER_PACKAGE_NAME plimsoll)
set(CPACK_DEBIAN_SCHEDULER_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_SCHEDULER_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_SCHEDULER_DESCRIPTION "Kubernetes scheduler that knows NUMA zones and devices
Plimsoll places pods on nodes with several NUMA zones, GPUs, NICs and
FPGAs where the kubelet will really take them, down to the zone and the
device.")
set(CPACK_DEBIAN_LAB_PACKAGE_NAME plimsoll-lab)
set(CPACK_DEBIAN_LAB_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_LAB_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LAB_PACKAGE_DEPENDS "plimsoll (= ${PROJECT_VERSION}-1)") # its plugins
set(CPACK_COMPONENT_LAB_DESCRIPTION "simulator and plugin checks of the Plimsoll scheduler
Schedules pods on copies of clusters with the scheduler that would run
there, and finds what plugins read and do not declare.")
set(CPACK_DEBIAN_NODE_PACKAGE_NAME plimsoll-node)
set(CPACK_DEBIAN_NODE_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_NODE_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_NODE_DESCRIPTION "exporter of NUMA topology for Kubernetes nodes
Publishes the NUMA zones of a node, what is free in them, and which pods
hold what, as a NodeResourceTopology object.")
set(CPACK_DEBIAN_SDK_PACKAGE_NAME plimsoll-dev)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_SDK_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "cmake, make | ninja-build, g++ (>= 4:12)")
set(CPACK_COMPONENT_SDK_DESCRIPTION "headers for plugins of the Plimsoll scheduler
C and C++20 headers, a fake host for unit tests, and CMake functions.")

# Documents that Debian asks of every package.
foreach(package plimsoll plimsoll-lab plimsoll-node plimsoll-dev)
  set(component scheduler)
  if(package STREQUAL plimsoll-node)
    set(component node)
  elseif(package STREQUAL plimsoll-lab)
    set(component lab)
  elseif(package STREQUAL plimsoll-dev)
    set(component sdk)
  endif()
  configure_file(packaging/changelog.in ${made}/${package}/changelog @ONLY)
  execute_process(COMMAND gzip -9nf ${made}/${package}/changelog)
  install(FILES ${made}/${package}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    RENAME changelog.Debian.gz COMPONENT ${component})
  install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  string(TOUPPER ${component} upper)
  if(component MATCHES "scheduler|node") # they have a service
    foreach(step postinst prerm)
      configure_file(packaging/${step}.in ${made}/${package}/${step} @ONLY FILE_PERMISSIONS
        OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endforeach()
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${made}/${package}/postinst ${made}/${package}/prerm)
  endif()
endforeach()
file(WRITE ${made}/conffiles "/etc/plimsoll/profile.yaml\n")
list(APPEND CPACK_DEBIAN_SCHEDULER_PACKAGE_CONTROL_EXTRA ${made}/conffiles)
include(CPack)
