class Attnscope < Formula
  desc "Analyze the attention of a transformer checkpoint"
  homepage ENV.fetch("HOMEBREW_ATTNSCOPE_HOME", "https://example.org")
  # In a tap, use the url of the release's sources and their checksum from SHA256SUMS.
  url "#{homepage}/attnscope-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "node" => :build
  depends_on "pkgconf" => :build
  depends_on "rust" => :build
  depends_on "cpp-httplib"
  depends_on "fmt"
  depends_on "highway"
  depends_on "jpeg-turbo"
  depends_on "libpng"
  depends_on "openblas"
  depends_on "openssl@3"
  depends_on "xxhash"

  uses_from_macos "curl"
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/attnscope --version")
    assert_match "cores", shell_output("#{bin}/attnscope info --system")
  end
end
