# Run by `cmake --install`, whose prefix may be another than the one that was configured: installs a systemd unit that names the
# program and the settings of this prefix, and, if `profile` is set, a profile to begin with. Nothing is written outside the
# prefix, but below /etc if it is /usr, as Debian has it.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
string(REGEX REPLACE "(.)/$" "\\1" prefix "${prefix}")
cmake_path(ABSOLUTE_PATH bindir BASE_DIRECTORY ${prefix} NORMALIZE)
cmake_path(ABSOLUTE_PATH sysconfdir BASE_DIRECTORY ${prefix} NORMALIZE)
if(sysconfdir STREQUAL "/usr/etc")
  set(sysconfdir /etc)
endif()

cmake_path(GET unit FILENAME name)
file(READ ${unit} text)
string(REPLACE "/usr/bin/" "${bindir}/" text "${text}")
string(REPLACE "/etc/plimsoll" "${sysconfdir}/plimsoll" text "${text}")
file(WRITE ${made}/${name} "${text}")
cmake_path(APPEND prefix lib/systemd/system OUTPUT_VARIABLE units)
file(INSTALL DESTINATION ${units} TYPE FILE FILES ${made}/${name})

if(profile AND EXISTS $ENV{DESTDIR}${sysconfdir}/plimsoll/profile.yaml)
  message(STATUS "Kept: $ENV{DESTDIR}${sysconfdir}/plimsoll/profile.yaml")
elseif(profile)
  file(INSTALL DESTINATION ${sysconfdir}/plimsoll TYPE FILE FILES ${profile} RENAME profile.yaml)
endif()
