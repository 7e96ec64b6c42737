# Sourced by ./dev: builds wheels, release artifacts, and the documentation site.

# Builds a self-contained wheel for pip: auditwheel adds the shared libraries to it. It uses the program's build folder, because
# the Python module is linked from the same objects.
wheel() {
  say "building build/wheels"
  log=build/wheel.log
  : >"$log"
  rm -rf build/wheels
  wheel_of build/wheel-tools
  ls build/wheels
}

# raw_wheel TOOLS: builds build/wheel-raw/*.whl for the Python of this virtual environment; it uses this machine's shared libraries
raw_wheel() {
  rm -rf build/wheel-raw build/release/python/_core.*.so  # may be for another Python
  quietly "$log" "$1/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir build/wheel-raw . \
    --config-settings=build-dir=build/release \
    --config-settings=build.tool-args="-j$jobs"
}

# install_package VENV TOOLS: builds and installs the Python package, if the library or the package has changed
install_package() {
  built=$(cat build/release/attnscope pyproject.toml python/CMakeLists.txt python/src/* python/attnscope/*.py* | sha256sum)
  [ "$(cat "$1/.installed" 2>/dev/null)" != "$built" ] || return 0
  say "building the Python package"
  log=build/python-package.log
  : >"$log"
  raw_wheel "$2"
  quietly "$log" "$1/bin/pip" install --quiet --force-reinstall --no-deps build/wheel-raw/*.whl
  echo "$built" >"$1/.installed"
}

# wheel_of TOOLS: adds a self-contained wheel to build/wheels
wheel_of() {
  raw_wheel "$1"
  rm -rf build/wheel-repaired
  quietly "$log" env PATH="$PWD/$1/bin:$PATH" \
    auditwheel repair --wheel-dir build/wheel-repaired build/wheel-raw/*.whl
  quietly "$log" "$1/bin/python" tools/wheel_licenses.py build/wheel-repaired/*.whl build/release/python/_core.*.so
  mkdir -p build/wheels
  mv build/wheel-repaired/*.whl build/wheels/
}

# Builds the release artifacts. A wheel works with the Python that builds it. From Python 3.12 on, it works with all newer versions
# too. ATTNSCOPE_PYTHONS may list more interpreters, which each build a wheel.
package() {
  build release attnscope_share
  venv build/wheel-tools tools/wheel_requirements.txt ||
    { echo "./dev: cannot install packages from PyPI (build/wheel-tools.log); they are needed to build packages"; exit 1; }
  wheel
  for python in ${ATTNSCOPE_PYTHONS:-}; do
    venv "build/wheel-tools-$(basename "$python")" tools/wheel_requirements.txt "$python" ||
      { echo "./dev: cannot install packages from PyPI for $python"; exit 1; }
    wheel_of "build/wheel-tools-$(basename "$python")"
  done
  log=build/package.log
  : >"$log"
  rm -rf build/artefacts
  mkdir -p build/artefacts
  cp build/wheels/*.whl build/artefacts/
  say "building build/artefacts"
  quietly "$log" build/wheel-tools/bin/python -m build --sdist --no-isolation --outdir build/artefacts .
  quietly "$log" tools/build_archives.sh build/archives
  quietly "$log" cmake --preset release -DATTNSCOPE_ARCHIVES="$PWD/build/archives"
  quietly "$log" cmake --build --preset release --target attnscope
  quietly "$log" env PATH="$PWD/build/wheel-tools/bin:$PATH" \
    build/wheel-tools/bin/python tools/package_program.py build/release/attnscope build/release/share build/artefacts
  tail -n 1 "$log"
  build release attnscope  # with shared libraries again
  if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null 2>&1; then
    say "testing the artifacts in minimal Debian 12 and 13 systems"
    tools/try_packages.sh build/artefacts
  else
    say "artifacts not tested in minimal systems: this needs root and debootstrap"
  fi
}

# release VERSION: prepares and tags a release; pushing the tag publishes it (.github/workflows/release.yml)
release() {
  version=${1:?usage: ./dev release VERSION}
  [ -z "$(git status --porcelain)" ] || { echo "./dev: the working tree has uncommitted changes: commit them first"; exit 1; }
  python3 tools/release.py set "$version"
  package
  say "checking CITATION.cff and the recipes, and writing SBOM and checksums"
  quietly "$log" build/wheel-tools/bin/cffconvert --validate
  quietly "$log" build/wheel-tools/bin/python tools/check_conda_recipe.py
  ! command -v ruby >/dev/null 2>&1 || quietly "$log" ruby -c packaging/homebrew/attnscope.rb
  build/wheel-tools/bin/python tools/release.py check
  build/wheel-tools/bin/python tools/release.py sbom build/release/attnscope build/artefacts
  build/wheel-tools/bin/python tools/release.py checksums build/artefacts
  git commit --quiet --all --message "Release $version"
  git tag --annotate "v$version" --message "attnscope $version"
  say "tagged v$version; artifacts are in build/artefacts. Push the tag to publish it"
}

# Builds the documentation site. ATTNSCOPE_MODELS may name a folder with more trained models for its gallery.
docs() {
  setup chromium
  build release attnscope
  venv build/docs-venv docs/site/requirements.txt ||
    { echo "./dev: cannot install packages from PyPI (build/docs-venv.log); they are needed to build the site"; exit 1; }
  : >build/docs.log
  install_package build/docs-venv build/docs-venv
  say "building build/site/html"
  quietly build/docs.log build/docs-venv/bin/python tools/site/build.py build/release/attnscope build/site \
    ${ATTNSCOPE_MODELS:+--models "$ATTNSCOPE_MODELS"}
  tail -n 1 build/docs.log
  npm_test site test:site
}

