// Runs a fuzz target over the files and folders that it is given, without libFuzzer: the tests do
// this with corpus/, and a finding is replayed with it.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

bool run_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(content.data()), content.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int argument = 1; argument < argc; ++argument) {
    const fs::path path = argv[argument];
    if (!fs::is_directory(path)) {
      files += run_file(path) ? 1 : 0;
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && run_file(entry.path())) ++files;
    }
  }
  std::cout << files << " files\n";
  return files > 0 ? 0 : 1;
}
