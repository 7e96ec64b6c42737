# attnscope_rust: the Rust crate in rust/, built by cargo, or absent.cpp without cargo.
set(crate ${PROJECT_SOURCE_DIR}/rust)
set(ATTNSCOPE_RUST ON CACHE BOOL "Build the Rust code: tokenizers, and charts as files (needs cargo 1.85 or newer)")
# All presets share one folder, because cargo's output does not depend on their options.
set(ATTNSCOPE_CARGO_FOLDER ${PROJECT_BINARY_DIR}/cargo CACHE PATH "Build folder of cargo")

# attnscope_find_cargo(): sets `cargo` and `rustc` to the first pair in one folder that is new enough
function(attnscope_find_cargo)
  string(REPLACE ":" ";" folders "$ENV{PATH}:/usr/bin:$ENV{HOME}/.cargo/bin")
  foreach(folder ${folders})
    if(NOT EXISTS ${folder}/cargo OR NOT EXISTS ${folder}/rustc)
      continue()
    endif()
    execute_process(COMMAND ${folder}/rustc --version OUTPUT_VARIABLE version ERROR_QUIET)
    if(NOT version MATCHES "rustc ([0-9]+\\.[0-9]+)" OR CMAKE_MATCH_1 VERSION_LESS 1.85)
      continue()
    endif()
    # A compiler without this target's standard library cannot build for it.
    if(rust_target)
      execute_process(COMMAND ${folder}/rustc --print target-libdir --target ${rust_target}
                      OUTPUT_VARIABLE libraries OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(NOT IS_DIRECTORY "${libraries}")
        continue()
      endif()
    endif()
    set(cargo ${folder}/cargo PARENT_SCOPE)
    set(rustc ${folder}/rustc PARENT_SCOPE)
    return()
  endforeach()
endfunction()

if(CMAKE_CROSSCOMPILING)
  set(rust_target ${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu)
endif()
if(ATTNSCOPE_RUST)
  attnscope_find_cargo()
  if(NOT cargo AND NOT CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "cargo 1.85 or newer not found: on Debian 12, install cargo-web and rustc-web "
                        "(./dev setup does), or build without tokenizers and charts as files: "
                        "-DATTNSCOPE_RUST=OFF")
  endif()
endif()

set(ATTNSCOPE_HAS_RUST OFF CACHE INTERNAL "Whether this build has the Rust code")
if(cargo)
  set(ATTNSCOPE_HAS_RUST ON CACHE INTERNAL "Whether this build has the Rust code")
  set(archive ${PROJECT_BINARY_DIR}/libattnscope_rust.a)
  file(GLOB_RECURSE crate_sources CONFIGURE_DEPENDS ${crate}/src/*.rs)
  # Sanitizer and warning flags apply to C and C++ only. --locked keeps the versions of Cargo.lock.
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E env --unset=RUSTFLAGS RUSTC=${rustc}
            ${cargo} build --quiet --release --locked --manifest-path ${crate}/Cargo.toml
            --target-dir ${ATTNSCOPE_CARGO_FOLDER} "$<$<BOOL:${rust_target}>:--target;${rust_target}>"
    COMMAND ${CMAKE_COMMAND} -E copy
            ${ATTNSCOPE_CARGO_FOLDER}/${rust_target}/release/libattnscope_rust.a ${archive}
    DEPENDS ${crate_sources} ${crate}/Cargo.toml ${crate}/Cargo.lock
    COMMENT "Building tokenizers and QuickJS (a minute or two, once)"
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(attnscope_rust_archive DEPENDS ${archive})
  add_library(attnscope_rust INTERFACE)
  add_dependencies(attnscope_rust attnscope_rust_archive)
  find_package(Threads REQUIRED)
  target_link_libraries(attnscope_rust INTERFACE ${archive} Threads::Threads ${CMAKE_DL_LIBS} m)
else()
  message(STATUS "Skipped: tokenizers and charts as files; this build reads only token ids")
  add_library(attnscope_rust STATIC ${crate}/absent.cpp)
  target_link_libraries(attnscope_rust PRIVATE attnscope_options)
endif()
