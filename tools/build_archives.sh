#!/bin/sh
# Static archives of libraries of which Debian has none, or none that can be linked without what it loads. They are built from Debian's
# sources of the versions that are installed, so that the headers of those packages are theirs too:
#   tools/build_archives.sh FOLDER
# makes FOLDER/lib*.a, once for each version. libcurl is built for HTTP and OpenSSL alone: all that it loads for other protocols
# stays out.
set -eu
folder=$1
mkdir -p "$folder/lists/partial" "$folder/parts"
folder=$(cd "$folder" && pwd)
cd "$folder"

versions=$(dpkg-query --show libcurl4-openssl-dev libcpp-httplib-dev libhwy-dev libfmt-dev)
[ "$(cat .built 2>/dev/null)" != "$versions" ] || exit 0

# The machine's own lists as they are, but of sources.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
  [ ! -e "$list" ] || sed 's/^deb /deb-src /; s/^Types: deb$/Types: deb-src/' "$list" >"parts/$(basename "$list")"
done
from_sources() {
  apt-get --quiet --option Dir::Etc::sourcelist=/dev/null --option "Dir::Etc::sourceparts=$folder/parts" \
    --option "Dir::State::lists=$folder/lists" "$@"
}
from_sources update

# archive PACKAGE TARGET OPTION…: of the source of a package that is installed
archive() {
  package=$1 target=$2
  shift 2
  source=$(dpkg-query --show --showformat '${source:Package}=${source:Version}' "$package")
  rm -rf "source-$package" "build-$package"
  mkdir "source-$package"
  (cd "source-$package" && from_sources source "$source")
  cmake -S "$(find "source-$package" -mindepth 1 -maxdepth 1 -type d)" -B "build-$package" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF "$@"
  cmake --build "build-$package" --target "$target"
  find "build-$package" -name 'lib*.a' -exec cp {} . \;
}
archive libfmt-dev fmt -DFMT_TEST=OFF -DFMT_DOC=OFF
archive libhwy-dev hwy -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
archive libcpp-httplib-dev httplib -DHTTPLIB_COMPILE=ON -DHTTPLIB_TEST=OFF -DHTTPLIB_REQUIRE_OPENSSL=ON \
  -DHTTPLIB_REQUIRE_ZLIB=ON -DHTTPLIB_REQUIRE_BROTLI=ON -DCMAKE_CXX_FLAGS=-DCPPHTTPLIB_USE_POLL
mv libhttplib.a libcpp-httplib.a
archive libcurl4-openssl-dev libcurl -DBUILD_CURL_EXE=OFF -DHTTP_ONLY=ON -DCURL_USE_OPENSSL=ON -DCURL_USE_LIBSSH2=OFF \
  -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF -DUSE_NGHTTP2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DCURL_USE_GSSAPI=OFF
echo "$versions" >.built
