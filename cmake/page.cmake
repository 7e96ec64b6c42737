# attnscope_page_data: the page of web/, built by npm and embedded, or no_page.cpp without the page.
set(web ${PROJECT_SOURCE_DIR}/web)
set(ATTNSCOPE_PAGE ON CACHE BOOL "Build the page that `report` writes (needs Node 18 or newer, with npm)")

if(ATTNSCOPE_PAGE)
  find_program(ATTNSCOPE_NPM npm)
  if(NOT ATTNSCOPE_NPM)
    message(FATAL_ERROR "npm not found: install npm (./dev setup does on Debian), or build without the page: "
                        "-DATTNSCOPE_PAGE=OFF")
  endif()
  file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${web}/src/*)
  # Build folders share the packages, but no output: the build of one must not change the input of another that runs.
  set(page_names report.html heads.html charts.js charts.ttf)
  set(page_folder ${PROJECT_BINARY_DIR}/page)
  list(TRANSFORM page_names PREPEND ${page_folder}/ OUTPUT_VARIABLE page_files)
  set(packages ${PROJECT_BINARY_DIR}/npm_packages.stamp)
  add_custom_command(OUTPUT ${packages}
    COMMAND ${CMAKE_COMMAND} -DNPM=${ATTNSCOPE_NPM} -P ${PROJECT_SOURCE_DIR}/cmake/npm_packages.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${packages}
    DEPENDS ${web}/package.json ${web}/package-lock.json
    WORKING_DIRECTORY ${web}
    COMMENT "Fetching npm packages of the page"
    VERBATIM)
  add_custom_command(OUTPUT ${page_files}
    COMMAND ${CMAKE_COMMAND} -E env ATTNSCOPE_PAGE_FOLDER=${page_folder} ${ATTNSCOPE_NPM} run --silent build
    DEPENDS ${packages} ${page_sources} ${web}/index.html ${web}/heads.html ${web}/inline_page.ts
      ${web}/vite.config.ts ${web}/vite.heads.config.ts ${web}/vite.charts.config.ts ${web}/tsconfig.json
    WORKING_DIRECTORY ${web}
    COMMENT "Building the page"
    VERBATIM)
  configure_file(${PROJECT_SOURCE_DIR}/attnscope/page/embedded.cpp.in ${PROJECT_BINARY_DIR}/embedded_page.cpp @ONLY)
  set_source_files_properties(${PROJECT_BINARY_DIR}/embedded_page.cpp PROPERTIES OBJECT_DEPENDS "${page_files}")
  add_library(attnscope_page_data STATIC ${PROJECT_BINARY_DIR}/embedded_page.cpp ${page_files})
  # In a unity build, this file would not be recompiled when the page changes.
  set_target_properties(attnscope_page_data PROPERTIES UNITY_BUILD OFF)
else()
  message(STATUS "Skipped: the page; this build cannot write reports")
  add_library(attnscope_page_data STATIC ${PROJECT_SOURCE_DIR}/attnscope/page/no_page.cpp)
endif()
target_link_libraries(attnscope_page_data PRIVATE attnscope_options)
