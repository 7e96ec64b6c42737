// A model from its checkpoint and what describes it: config.json, or a layout file.
#include <algorithm>

#include "attnscope/core/error.h"
#include "attnscope/model/adapter.h"
#include "attnscope/model/layout_offer.h"
#include "attnscope/model/model.h"
#include "attnscope/model/model_names.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr std::uint64_t kMaxConfigBytes = 10'000'000;

/// The same error, with a layout file that may fit.
Error with_offer(const Error& error, const std::string& layout) {
  ErrorParts parts = error.parts();
  parts.problem.resize(std::min(parts.problem.size(), parts.problem.find("; known: ")));
  parts.hint =
      "its tensors are named as Llama's are; if it computes as Llama does, save this and "
      "give it with {layout}: " +
      verbatim(layout);
  return {error.kind(), std::move(parts)};
}

ModelSpec spec_of_config(const Checkpoint& checkpoint, const std::string& text,
                         const std::string& source) {
  try {
    return parse_config(text, source);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    const std::string layout = offered_layout(checkpoint, text);
    if (layout.empty()) throw;
    throw with_offer(error, layout);
  }
}

}  // namespace

Model Model::open(const fs::path& path, const std::optional<fs::path>& layout, std::string name) {
  return open(Checkpoint::open(path), layout,
              name.empty() ? distinct_names({path}).front() : std::move(name));
}

Model Model::open(Checkpoint checkpoint, const std::optional<fs::path>& layout, std::string name) {
  const auto compose = [&](const ModelSpec& spec) {
    checkpoint.compose_quantised(spec.quantisation.method, spec.quantisation.config, spec.source);
  };
  if (!layout && checkpoint.config()) {
    ModelSpec spec =
        spec_of_config(checkpoint, *checkpoint.config(), checkpoint.main_file().string());
    compose(spec);
    return {std::move(checkpoint), std::move(spec), std::move(name)};
  }
  const CheckpointFolder& folder = checkpoint.folder();
  const std::string source = layout ? layout->string() : folder.place_of(kConfig);
  if (!layout && !folder.has(kConfig)) {
    refuse_adapter(folder);
    throw Error(ErrorKind::io, {.file = source,
                                .problem = "no such file; the weights need their config.json "
                                           "beside them",
                                .hint = "or describe them with {layout} FILE.json"});
  }
  const std::string text = layout ? read_text_file(*layout, kMaxConfigBytes)
                                  : folder.read_text(kConfig, kMaxConfigBytes);
  ModelSpec spec = layout ? parse_layout(text, source) : spec_of_config(checkpoint, text, source);
  compose(spec);
  return {std::move(checkpoint), std::move(spec), std::move(name)};
}

void compose_as_config_says(Checkpoint& checkpoint) {
  const CheckpointFolder& folder = checkpoint.folder();
  std::string text, place = checkpoint.main_file().string();
  if (checkpoint.config()) {
    text = *checkpoint.config();
  } else if (folder.has(kConfig)) {
    text = folder.read_text(kConfig, kMaxConfigBytes);
    place = folder.place_of(kConfig);
  }
  const Quantisation found = text.empty() ? Quantisation() : parse_quantisation(text, place);
  checkpoint.compose_quantised(found.method, found.config, place);
}

}  // namespace attnscope
