# ATTNSCOPE_ARCHIVES: a folder of static archives (tools/build_archives.sh). They are linked into the program together with static
# archives of the system, so that the program needs only the C library. archives.txt in the build folder lists the libraries that
# they replace. Must be included after all libraries have been found.
set(ATTNSCOPE_ARCHIVES "" CACHE PATH "Folder of static archives to link in addition to those of the system; empty: link shared libraries")

set(linked "")
if(ATTNSCOPE_ARCHIVES)
  # archive_of(RESULT LIBRARY): the archive in ATTNSCOPE_ARCHIVES, or else next to the shared library
  function(archive_of result library)
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
    get_filename_component(name "${archive}" NAME)
    set(${result} "" PARENT_SCOPE)
    foreach(candidate ${ATTNSCOPE_ARCHIVES}/${name} ${archive})
      if(EXISTS ${candidate} AND NOT archive STREQUAL library)
        set(${result} ${candidate} PARENT_SCOPE)
        return()
      endif()
    endforeach()
    if(NOT archive STREQUAL library)
      message(FATAL_ERROR "${name} not found in ${ATTNSCOPE_ARCHIVES} or next to ${library}: run tools/build_archives.sh")
    endif()
  endfunction()

  foreach(target PNG::PNG JPEG::JPEG ZLIB::ZLIB SQLite::SQLite3 PkgConfig::XXHASH PkgConfig::HIGHWAY PkgConfig::HTTPLIB fmt::fmt
                 CURL::libcurl OpenSSL::SSL OpenSSL::Crypto)
    foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NONE INTERFACE_LINK_LIBRARIES)
      get_target_property(library ${target} ${property})
      list(LENGTH library libraries)
      if(NOT library OR libraries GREATER 1)
        continue()
      endif()
      archive_of(archive "${library}")
      if(archive)
        set_target_properties(${target} PROPERTIES ${property} ${archive})
        list(APPEND linked ${library})
      endif()
    endforeach()
  endforeach()

  # Dependencies of a shared library must be listed explicitly for a static archive.
  foreach(name brotlienc brotlidec brotlicommon)
    find_library(ATTNSCOPE_${name} ${name} REQUIRED)
    archive_of(archive ${ATTNSCOPE_${name}})
    list(APPEND brotli ${archive})
    list(APPEND linked ${ATTNSCOPE_${name}})
  endforeach()
  target_link_libraries(PkgConfig::HTTPLIB INTERFACE OpenSSL::SSL ZLIB::ZLIB ${brotli})
  target_link_libraries(CURL::libcurl INTERFACE OpenSSL::SSL ZLIB::ZLIB)

  # Links the serial OpenBLAS: attnscope does not use OpenBLAS threads, and the threaded archive starts them before attnscope is
  # initialized. LAPACK needs the Fortran runtime. For a library that does not exist, the compiler prints its bare name.
  find_file(ATTNSCOPE_SERIAL_OPENBLAS libopenblas.a PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial NO_DEFAULT_PATH
            REQUIRED)
  set(runtime "")
  foreach(name gfortran quadmath stdc++ gcc)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a OUTPUT_VARIABLE library
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND runtime ${library})
  endforeach()
  list(FILTER runtime INCLUDE REGEX "^/")
  list(APPEND linked ${ATTNSCOPE_SERIAL_OPENBLAS} ${runtime})
  list(FILTER runtime INCLUDE REGEX "fortran|quadmath")
  set_target_properties(PkgConfig::OPENBLAS PROPERTIES INTERFACE_LINK_LIBRARIES "${ATTNSCOPE_SERIAL_OPENBLAS};${runtime}")
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
list(REMOVE_DUPLICATES linked)
list(JOIN linked "\n" linked)
file(WRITE ${PROJECT_BINARY_DIR}/archives.txt "${linked}")
