# Runs in web/. Installs the packages of package-lock.json, unless they are installed: another build folder may be using them.
#
#   NPM  the program.
set(installed ${CMAKE_CURRENT_SOURCE_DIR}/node_modules/.package-lock.json)
if(EXISTS ${installed} AND ${installed} IS_NEWER_THAN ${CMAKE_CURRENT_SOURCE_DIR}/package-lock.json)
  return()
endif()
execute_process(COMMAND ${NPM} ci --loglevel=error --no-audit --no-fund COMMAND_ERROR_IS_FATAL ANY)
