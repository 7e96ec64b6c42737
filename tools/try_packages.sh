#!/bin/sh
# Tries what ./dev package made where nothing is but Debian: try_packages.sh FOLDER [SUITE...], as root. The tarball in a root
# without Python, then the wheel with pip in an empty virtual environment without a compiler; each makes a report of an example.
set -eu
cd "$(dirname "$0")/.."
packages=$(realpath "$1")
version=$(sed -n 's/^project(attnscope VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
shift
[ "$#" -gt 0 ] || set -- bookworm trixie
command -v debootstrap >/dev/null || { echo "no debootstrap: the packages are not tried"; exit 77; }

# made ROOT SUITE: a bare Debian, kept for the next time
made() {
  [ -e "$1/.ready" ] && return
  rm -rf "$1"
  mkdir -p "$(dirname "$1")"
  debootstrap --variant=minbase --include=ca-certificates "$2" "$1" >"$1.log" 2>&1
  touch "$1/.ready"
}

# Programs find their libraries by /proc. What is mounted is unmounted, however this ends.
mounted=
with_proc() {
  mount -t proc proc "$1/proc"
  mounted="$mounted $1"
}
unmount() { for root in $mounted; do umount "$root/proc"; done; }
trap unmount EXIT

# in_root ROOT COMMAND
in_root() { chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh -euc "$2"; }

# seconds COMMAND...: runs it, and says how long it took
seconds() {
  began=$(date +%s)
  "$@"
  echo "   $(($(date +%s) - began)) s"
}

for suite in "$@"; do
  bare=build/roots/$suite python=build/roots/$suite-python
  made "$bare" "$suite"
  # Before /proc is mounted in it: a copy of that would have no end.
  if [ ! -e "$python/.ready" ]; then
    rm -rf "$python"
    cp -a "$bare" "$python"
    rm -f "$python/.ready"
  fi
  rm -rf "$bare/try"
  mkdir "$bare/try"
  cp "$packages"/attnscope-*.tar.gz "$bare/try/"
  echo "$suite, without Python: the tarball"
  with_proc "$bare"
  in_root "$bare" 'if command -v python3 cc; then exit 1; fi'
  seconds in_root "$bare" 'cd /try && tar xzf attnscope-*-linux-*.tar.gz && mv attnscope-*/ elsewhere && cd elsewhere
    bin/attnscope report examples/shakespeare-gpt2 --quiet --out /try/report.html --text "To be, or not to be"
    test "$(wc -c </try/report.html)" -gt 100000 && bin/attnscope info --system | head -n 1'

  if [ ! -e "$python/.ready" ]; then
    cp /etc/resolv.conf "$python/etc/"
    [ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$python/etc/"
    in_root "$python" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv' >"$python.log" 2>&1
    touch "$python/.ready"
  fi
  version_of_python=$(in_root "$python" 'python3 -c "import sys; print(*sys.version_info[:2], sep=\".\")"')
  if ! python3 -m pip download --quiet --no-deps --no-index --find-links "$packages" --only-binary :all: --dest build/roots/fits \
       --python-version "$version_of_python" attnscope >/dev/null 2>&1; then
    echo "$suite, without a compiler: not tried, as no wheel is for its Python $version_of_python (ATTNSCOPE_PYTHONS of ./dev package)"
    continue
  fi
  rm -rf "$python/try"
  mkdir -p "$python/try/examples"
  cp "$packages"/*.whl "$python/try/"
  cp -r examples/shakespeare-gpt2 "$python/try/examples/"
  echo "$suite, without a compiler: the wheel"
  with_proc "$python"
  in_root "$python" 'if command -v cc gcc clang; then exit 1; fi; python3 -m venv /try/venv'
  # NumPy is fetched before, so that what is timed is the installation. Of a wheel for each Python pip chooses one.
  python3 -m pip download --quiet --only-binary :all: --require-hashes --dest "$python/try" -r tests/python/alone_requirements.txt \
    --python-version "$version_of_python"
  seconds in_root "$python" "cd /try && venv/bin/pip install --quiet --no-index --find-links . attnscope==$version"
  seconds in_root "$python" 'cd /try && venv/bin/attnscope report examples/shakespeare-gpt2 --quiet --out report.html --text "To be, or not to be"
    test "$(wc -c <report.html)" -gt 100000'
  in_root "$python" 'cd /try && venv/bin/python -c "
import attnscope as asc
model = asc.open(\"examples/shakespeare-gpt2\")
print(len(model.spectrum(matrix=[\"q\", \"k\"], per_head=True)), \"rows\")"'
done
