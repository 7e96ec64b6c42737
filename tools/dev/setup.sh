# Sourced by ./dev: installs packages from Debian and PyPI.

packages="build-essential cmake ninja-build pkg-config python3 git
  libopenblas-dev libhwy-dev libsqlite3-dev libxxhash-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libcpp-httplib-dev
  libcurl4-openssl-dev libssl-dev libpng-dev libjpeg62-turbo-dev
  python3-dev python3-venv python3-jsonschema libgtest-dev libbenchmark-dev zsh fish"
# Sanitizers and fuzz targets need clang and its runtime; browser tests need Chromium. lld links tests several times faster.
all_packages="clang libclang-rt-dev lld chromium"
arm64_packages="g++-aarch64-linux-gnu qemu-user libopenblas-dev:arm64 libhwy-dev:arm64
  libsqlite3-dev:arm64 zlib1g-dev:arm64 libcpp-httplib-dev:arm64 libxxhash-dev:arm64 libfmt-dev:arm64 libgtest-dev:arm64
  libcurl4-openssl-dev:arm64 libssl-dev:arm64 libpng-dev:arm64 libjpeg62-turbo-dev:arm64"

# missing_packages PACKAGE...: prints the packages that are not installed
missing_packages() {
  own=$(dpkg --print-architecture)
  for package in "$@"; do
    case "$package" in
      *:*) architecture=${package#*:} ;;
      *) architecture=$own ;;
    esac
    dpkg-query -W -f '${Architecture} ${Status}\n' "$package" 2>/dev/null |
      grep -qE "^($architecture|all) .* ok installed" || echo "$package"
  done
}

# Prints the packages with cargo 1.85 or newer, which have other names in Debian 12.
rust_packages() {
  if grep -q '^VERSION_ID="12"' /etc/os-release; then echo cargo-web rustc-web; else echo cargo rustc; fi
}

# Prints the Rust packages for the cross compiler of ./dev test-arm.
arm64_rust_packages() {
  if grep -q '^VERSION_ID="12"' /etc/os-release; then
    echo cargo-web rustc-web libstd-rust-web-dev:arm64
  else
    echo cargo rustc libstd-rust-dev:arm64
  fi
}

# Rust code needs cargo 1.85 or newer.
has_cargo() {
  minor=$(rustc --version 2>/dev/null | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
  command -v cargo >/dev/null 2>&1 && [ "${minor:-0}" -ge 85 ]
}

# The page is built with Node 18 or newer, and npm.
has_node() {
  major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')
  command -v npm >/dev/null 2>&1 && [ "${major:-0}" -ge 18 ]
}

# setup [PACKAGE...]: installs $packages and the given ones, if apt-get is available
setup() {
  has_cargo || set -- "$@" $(rust_packages)
  has_node || set -- "$@" nodejs npm
  if ! command -v apt-get >/dev/null 2>&1; then
    if [ ! -e build/.no-apt ]; then
      say "apt-get not found; install these Debian packages or their equivalents:"
      echo $packages "$@"
      mkdir -p build && touch build/.no-apt
    fi
    return
  fi
  missing=$(missing_packages $packages "$@")
  [ -n "$missing" ] || return 0
  say "installing" $missing
  as_root=
  [ "$(id -u)" = 0 ] || as_root=sudo
  mkdir -p build
  case "$missing" in
    *:arm64*) $as_root dpkg --add-architecture arm64 ;;
  esac
  if ! { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y --no-install-recommends $missing; } >build/setup.log 2>&1; then
    tail -n 20 build/setup.log | what_failed build/setup.log
    exit 1
  fi
}

# venv FOLDER REQUIREMENTS [PYTHON]: creates a virtual environment with the packages of this file, each verified by its hash.
# Returns 1 if they cannot be installed. Only imported files are compiled, when they are first imported.
venv() {
  cmp -s "$2" "$1/.ready" && return
  rm -rf "$1"
  { "${3:-python3}" -m venv "$1" && "$1/bin/pip" install --quiet --no-compile --retries 1 --require-hashes -r "$2"; } >"$1.log" 2>&1 || return 1
  cp "$2" "$1/.ready"
}
