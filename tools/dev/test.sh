# Sourced by ./dev: runs tests and checks.

# Suppresses known leaks of libraries.
export LSAN_OPTIONS="suppressions=$PWD/cmake/leaks.supp:print_suppressions=0"

# Builds and runs the C++ tests except the long ones, the unit tests of the page, and the tests of the Python package.
test_quick() {
  setup
  build release attnscope_tests
  run_suites release "tests, release" --label-exclude long
  (page_unit_tests) >build/page-unit.out 2>&1 &
  page=$!
  failed=
  (package_tests -m "not long") || failed=yes
  wait "$page" || failed=yes
  cat build/page-unit.out
  [ -z "$failed" ] || exit 1
  say "all quick tests passed; ./dev test --all also runs long tests, browser tests, sanitizers and fuzz targets"
}

# Runs everything. The sanitizer build, the browser tests and the package tests run in parallel, because each leaves a core
# idle part of the time.
test_all() {
  setup $all_packages
  # Large batches compile faster from nothing. A build folder that exists keeps its small ones, which rebuild faster.
  [ -e build/release/build.ninja ] || cmake --preset release -DATTNSCOPE_BATCH_KILOBYTES=400 >/dev/null 2>&1 || true
  build release
  run_suites release "tests, release" --label-exclude sanitized  # the others run below, under sanitizers
  check_build_cost
  nice ./dev build asan >build/asan.out 2>&1 &
  asan=$!
  (page_unit_tests && browser_tests) >build/page.out 2>&1 &
  page=$!
  failed=
  (check_packages && check_in_transformers) || failed=yes
  wait "$page" || failed=yes
  cat build/page.out
  wait "$asan" || failed=yes
  cat build/asan.out
  [ -z "$failed" ] || exit 1
  # OpenBLAS threads that are still starting when a short run ends look like a leak. attnscope needs only one.
  export OPENBLAS_NUM_THREADS=1
  run_suites asan "tests, asan"
  # Records only two stack frames per allocation: full stacks would take a fifth of a command's time.
  export ATTNSCOPE_PROGRAM="$PWD/build/asan/attnscope" ASAN_OPTIONS=malloc_context_size=2
  run_suites release "commands, asan" --label-regex commands
  unset ATTNSCOPE_PROGRAM ASAN_OPTIONS OPENBLAS_NUM_THREADS
  fuzz_targets "${ATTNSCOPE_FUZZ_SECONDS:-3}"
  say "all tests passed"
}

# test_named NAME...: builds and runs the tests found by tools/dev/find_tests.py
test_named() {
  [ -e build/release/build.ninja ] || setup
  for name; do
    tests=$(python3 tools/dev/find_tests.py "$name") || exit 1
    while read -r kind first second; do
      run_found "$kind" "$first" "$second" </dev/null || exit 1
    done <<LINES
$tests
LINES
  done
}

# run_found gtest PROGRAM FILTER | pytest FILE | vitest PROJECT FILE | ctest NAME: runs a line of find_tests.py
run_found() {
  case "$1" in
    gtest)
      build release "$2"
      "build/release/tests/$2" --gtest_brief=1 --gtest_filter="$3" ;;
    ctest)
      build release attnscope
      ctest --test-dir build/release --output-on-failure -R "^$2\$" ;;
    pytest)
      build release attnscope
      has_packages
      install_package build/packages build/wheel-tools
      env PATH="$PWD/build/packages/bin:$PATH" build/packages/bin/python -m pytest -q -p no:cacheprovider "$2" ;;
    vitest)
      [ -d web/node_modules ] || build release attnscope_page_data
      [ "$2" = unit ] || { setup chromium; build release attnscope; }
      (cd web && npx vitest run --project "$2" "$3") ;;
  esac
}

# run_suites PRESET TITLE [CTEST OPTION...]: runs the tests of a preset with ctest
run_suites() {
  preset=$1
  say "$2"
  shift 2
  log=build/$preset-tests.log
  if ! ctest --test-dir "build/$preset" --output-on-failure -j "$jobs" --no-tests=error "$@" >"$log" 2>&1; then
    # Shows the names of failed tests first, then their output.
    { sed -n '/% tests passed/,$p' "$log"; sed '/% tests passed/,$d; / Passed /d; /^ *Start /d' "$log"; } | what_failed "$log"
    exit 1
  fi
  grep -E 'tests passed|Total Test time' "$log" || true
  # Shows the skipped tests with their reasons.
  grep -A 100 'did not run' "$log" || true
  sed -n '/: Skipped$/{N;s/\n/ /p}' "build/$preset/Testing/Temporary/LastTest.log" | sed 's,.*tests/,tests/,' | sort -u
}

# npm_test NAME SCRIPT: runs a script of web/package.json
npm_test() {
  say "tests, $1"
  log=build/$1-tests.log
  # NO_COLOR, because grep below would not find lines in a colored log.
  if ! (cd web && NO_COLOR=1 npm run --silent "$2") >"$log" 2>&1; then
    grep -v ' ✓ ' "$log" | what_failed "$log"
    exit 1
  fi
  grep -E '^ *Tests ' "$log" || true
}

# Checks the page's types and tests its data processing.
page_unit_tests() { npm_test page test; }

# Tests the page in Chromium.
browser_tests() { npm_test browser test:browser; }

# run_pytest [PYTEST OPTION...]: tests the installed package
run_pytest() {
  say "tests, python"
  log=build/python-tests.log
  : >"$log"
  quietly "$log" build/packages/bin/python tools/make_python_sources.py --check
  quietly "$log" build/packages/bin/python -m mypy
  quietly "$log" env PATH="$PWD/build/packages/bin:$PATH" build/packages/bin/python -m pytest -q -p no:cacheprovider "$@"
  tail -n 1 "$log"
}

# Creates the environments of the Python tests. Prints a note and returns 1 if that fails.
has_packages() {
  venv build/wheel-tools tools/wheel_requirements.txt && venv build/packages tests/python/requirements.txt && return
  say "cannot install packages from PyPI (build/wheel-tools.log, build/packages.log): the Python package is not tested"
  return 1
}

# package_tests [PYTEST OPTION...]: tests the Python package with the built module
package_tests() {
  has_packages || return 0
  install_package build/packages build/wheel-tools
  run_pytest "$@"
}

# Tests the wheel, first in an environment with only pip, then together with all packages that its tests compare with.
test_wheel() {
  say "tests, wheel"
  log=build/wheel-tests.log
  : >"$log"
  rm -rf build/wheel-alone
  quietly "$log" python3 -m venv build/wheel-alone
  quietly "$log" build/wheel-alone/bin/pip install --quiet --require-hashes -r tests/python/alone_requirements.txt
  quietly "$log" build/wheel-alone/bin/pip install --quiet --no-index build/wheels/*.whl
  quietly "$log" build/wheel-alone/bin/python tests/python/alone.py
  rm -f build/packages/.installed
  quietly "$log" build/packages/bin/pip install --quiet --force-reinstall --no-deps build/wheels/*.whl
  run_pytest
}

# run_checks VENV NAME...: runs scripts tools/check_NAME.py on the built program
run_checks() {
  python=$1/bin/python
  shift
  for check; do
    say "tests, $check"
    log=build/$check-tests.log
    if ! "$python" "tools/check_$check.py" build/release/attnscope >"$log" 2>&1; then
      what_failed "$log" <"$log"
      exit 1
    fi
    tail -n 1 "$log"
  done
}

# Tests that need PyPI: report charts in Altair, the cache shared with Hugging Face libraries, and the wheel.
check_packages() {
  has_packages || return 0
  run_checks build/packages altair hub_cache
  wheel
  test_wheel
}

# Opens adapters and compressed models with PEFT and transformers. The environment takes 6 GB with PyTorch from PyPI.
check_in_transformers() {
  if [ "$(df --output=avail -k build | tail -n 1)" -lt 20000000 ] && [ ! -e build/torch/.ready ]; then
    say "less than 20 GB free: compressed models are not tested in transformers"
    return 0
  fi
  if ! PIP_NO_CACHE_DIR=1 venv build/torch tests/python/torch_requirements.txt; then
    say "cannot install PyTorch from PyPI (build/torch.log): compressed models are not tested in transformers"
    rm -rf build/torch
    return 0
  fi
  run_checks build/torch adapters compressed_models plan_numbers live
  torch_tests
}

# Runs the tests of the Python package that need PyTorch, on the wheel that check_packages built.
torch_tests() {
  ls build/wheels/*.whl >/dev/null 2>&1 || return 0
  say "tests, torch"
  log=build/torch-tests.log
  : >"$log"
  quietly "$log" build/torch/bin/pip install --quiet --force-reinstall --no-deps build/wheels/*.whl
  quietly "$log" build/torch/bin/python -m pytest -q -p no:cacheprovider tests/python/test_models.py::test_live_module \
    $(printf 'tests/python/test_%s.py ' arrays callbacks live_command_line live_maps live_model live_modules live_notebook live_pages live_patching live_torch live_views live_wrappers sharded)
  tail -n 1 "$log"
}

check_build_cost() {
  say "tests, build cost"
  log=build/build-cost.log
  python3 tools/check_build_cost.py build/release >"$log" 2>&1 || { what_failed "$log" <"$log"; exit 1; }
  tail -n 1 "$log"
}

# fuzz_target SECONDS PROGRAM: runs one fuzz target
fuzz_target() {
  name=$(basename "$2")
  name=${name#fuzz_}
  fuzz_log=build/asan/fuzz/$name.log
  # New inputs go to a separate folder, so that a run does not change the repository.
  mkdir -p "build/asan/fuzz/new/$name"
  if ! "$2" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
       -artifact_prefix="build/asan/fuzz/$name-" "build/asan/fuzz/new/$name" "fuzz/corpus/$name" >"$fuzz_log" 2>&1; then
    tail -n 40 "$fuzz_log" | what_failed "$fuzz_log"
    return 1
  fi
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$fuzz_log") inputs"
}

# fuzz_targets SECONDS [NAME]: runs fuzz targets, one per core at a time
fuzz_targets() {
  say "fuzzing, $1 s each"
  running= some=
  for program in build/asan/fuzz/fuzz_"${2:-}"*; do
    source=fuzz/$(basename "$program" | sed 's/^fuzz_//').cpp
    [ -x "$program" ] && [ -e "$source" ] || continue  # skips targets of earlier builds
    some=yes
    fuzz_target "$1" "$program" &
    running="$running $!"
    [ "$(echo $running | wc -w)" -lt "$jobs" ] || finish_fuzzing
  done
  finish_fuzzing
  [ -n "$some" ] || { echo "./dev: no fuzz target starts with '${2:-}'"; exit 1; }
}

# Waits for all running targets, even if one of them has failed, so that no process is left running.
finish_fuzzing() {
  failed=
  for process in $running; do
    wait "$process" || failed=yes
  done
  running=
  [ -z "$failed" ] || exit 1
}

test_arm() {
  setup $arm64_packages $(arm64_rust_packages)
  build arm64 attnscope_tests
  run_suites arm64 "tests, arm64"
  say "all tests that can run in emulation passed"
}
