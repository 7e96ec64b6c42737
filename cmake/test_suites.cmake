# Runs when the tests are built. Writes the file that ctest includes, with one test per GoogleTest suite.
#
#   PROGRAM   the test program.
#   EMULATOR  starts the program; may be empty.
#   LIST      file with the output of --gtest_list_tests.
#   EXCEPT    end of a filter that excludes tests; may be empty.
#   SECONDS   time limit of a suite.
#   LONG      file with the names of suites that get the label "long". Only ./dev test --all runs them.
#   UNSEEN    tests that sanitizers skip, as in a filter of GoogleTest. Suites without such tests get the label "sanitized",
#             if they are not long: ./dev test --all runs them only under sanitizers.
#   COMMANDS  ON: suites named Cli... get the label "commands", if they are not long.
#   OUT       the file to write.
cmake_minimum_required(VERSION 3.25)  # for if(... IN_LIST ...)
set(command "\"${PROGRAM}\"")
if(EMULATOR)
  string(PREPEND command "\"${EMULATOR}\" ")
endif()
file(STRINGS ${LIST} lines)
file(STRINGS ${LONG} long_suites REGEX "^[A-Za-z]")
string(REGEX REPLACE "\\.[^:]*" "" unseen_suites "${UNSEEN}")  # without the names of tests
string(REPLACE "*" ".*" unseen_suites "${unseen_suites}")
string(REPLACE ":" "|" unseen_suites "${unseen_suites}")
set(tests "")
foreach(line ${lines})
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.")  # tests of a suite are indented
    set(suite ${CMAKE_MATCH_1})
    string(APPEND tests "add_test(${suite} ${command} --gtest_brief=1 \"--gtest_filter=${suite}.*${EXCEPT}\")\n"
                        "set_tests_properties(${suite} PROPERTIES TIMEOUT ${SECONDS})\n")
    if(suite IN_LIST long_suites)  # they start first, so that no core waits for them at the end
      string(APPEND tests "set_tests_properties(${suite} PROPERTIES LABELS long COST 50)\n")
    elseif(NOT suite MATCHES "^(${unseen_suites})$")
      string(APPEND tests "set_tests_properties(${suite} PROPERTIES LABELS sanitized)\n")
    elseif(COMMANDS AND suite MATCHES "^Cli")
      string(APPEND tests "set_tests_properties(${suite} PROPERTIES LABELS commands)\n")
    endif()
  endif()
endforeach()
file(WRITE ${OUT} "${tests}")
