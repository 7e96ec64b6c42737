#include "attnscope/features/framework/file_extensions.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/rows/writers.h"

namespace attnscope {
namespace {

/// File extensions of formats that attnscope writes, and of other common formats of tables, tensors
/// and pages.
constexpr std::array<std::string_view, 31> kKnownEndings = {
    ".csv",  ".json",    ".html",  ".htm",     ".npy",    ".safetensors", ".sqlite", ".sqlite3",
    ".db",   ".svg",     ".tsv",   ".jsonl",   ".ndjson", ".npz",         ".pt",     ".pth",
    ".gguf", ".parquet", ".arrow", ".feather", ".xlsx",   ".ods",         ".h5",     ".hdf5",
    ".pdf",  ".png",     ".gz",    ".zip",     ".zst",    ".xz",          ".bz2"};

bool is_known(const std::string& ending) {
  return std::find(kKnownEndings.begin(), kKnownEndings.end(), ending) != kKnownEndings.end();
}

}  // namespace

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return ending;
}

void check_ending(const Parameter& parameter, const std::string& path) {
  const auto& possible = parameter.endings;
  const std::string ending = ending_of(path);
  if (possible.empty() || !is_known(ending)) return;
  if (std::find(possible.begin(), possible.end(), ending) != possible.end()) return;
  throw Error(ErrorKind::usage, {.parameter = parameter.name,
                                 .problem = "'" + verbatim(path) +
                                            "' has an unsupported file extension: " + ending + "",
                                 .hint = "supported: " + join_alternatives(possible)});
}

std::string format_of(const Arguments& arguments) {
  const std::string ending = ending_of(arguments.text("out"));
  const std::string asked = arguments.text("format");
  for (const Format& format : formats()) {
    if (format.ending.empty() || format.ending != ending) continue;
    if (!arguments.given("format") || asked == format.name) return std::string(format.name);
    throw Error(ErrorKind::usage,
                {.parameter = "format",
                 .problem = "'" + asked + "' does not match the file extension " + ending + "",
                 .hint = "omit {format}, or change the file extension of {out}"});
  }
  return asked;
}

}  // namespace attnscope
