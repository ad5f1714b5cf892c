# Builds the plugin in Rust, which has the C headers alone to go by, into OUT and lets the program
# PLIMSOLL judge it. Without Rust it is skipped, as ctest shows; with CI=true it fails.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

find_program(CARGO cargo)
find_program(RUSTC rustc)
if(NOT CARGO OR NOT RUSTC)
  if("$ENV{CI}" STREQUAL "true")
    message(FATAL_ERROR "CI=true forbids a skip: no cargo and rustc on PATH")
  endif()
  message(STATUS "SKIPPED: no cargo and rustc on PATH to build ${EXAMPLE} with")
  return()
endif()

file(REMOVE_RECURSE ${OUT})
set(options --offline --locked --manifest-path ${EXAMPLE}/Cargo.toml --target-dir ${OUT}/target)
foreach(step "build;--release" test)
  run(${CARGO} ${step} ${options})
  if("$ENV{CI}" STREQUAL "true" AND output MATCHES "warning:")
    message(FATAL_ERROR "CI takes no warnings:\n${output}")
  endif()
endforeach()

set(module ${OUT}/plugins/label-score.so)
file(MAKE_DIRECTORY ${OUT}/plugins)
file(COPY_FILE ${OUT}/target/release/liblabel_score.so ${module})
check_module(${module})

run(${PLIMSOLL} plugins --plugin-dir ${OUT}/plugins)
if(NOT output MATCHES "LabelScore +1\\.0\\.0 +${module} ")
  message(FATAL_ERROR "the plugin is not loaded:\n${output}")
endif()

set(cases ${CMAKE_CURRENT_LIST_DIR}/rust)
file(READ ${EXAMPLE}/README.md readme)
string(REGEX MATCH "```yaml\n([^`]*)" profile "${readme}")
file(WRITE ${OUT}/profile.yaml "${CMAKE_MATCH_1}")
run(${PLIMSOLL} validate ${OUT}/profile.yaml --plugin-dir ${OUT}/plugins)
run(${PLIMSOLL} simulate --config ${cases}/profile.yaml --cluster ${cases}/cluster.yaml
  --pods ${cases}/pods.yaml --expect ${cases}/expected.yaml --plugin-dir ${OUT}/plugins)
run(${PLIMSOLL} plugins lint ${module} --args ${cases}/args.yaml --objects ${cases}/cluster.yaml)

execute_process(COMMAND ${PLIMSOLL} validate ${cases}/no_args.yaml --plugin-dir ${OUT}/plugins
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "args of plugin LabelScore.label: required: ")
  message(FATAL_ERROR "a missing label must be an error that says so:\n${output}")
endif()
