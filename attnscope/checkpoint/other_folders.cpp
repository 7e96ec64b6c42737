#include "attnscope/checkpoint/other_folders.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// Returns the name with the largest number after `start`.
std::optional<std::string> last_numbered(const std::vector<std::string>& names,
                                         std::string_view start) {
  std::optional<std::string> found;
  std::uint64_t largest = 0;
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    if (!name.starts_with(start)) continue;
    const auto parsed =
        std::from_chars(name.data() + start.size(), name.data() + name.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (!found || number > largest) found = name;
    largest = std::max(largest, number);
  }
  return found;
}

}  // namespace

void refuse_other_contents(const CheckpointFolder& folder) {
  const std::vector<std::string> names = folder.names_ending("");
  const auto any = [&](auto is) { return std::any_of(names.begin(), names.end(), is); };
  const auto refuse_as = [&](std::string what, std::string hint) {
    throw Error(
        ErrorKind::unsupported,
        {.file = folder.path().string(), .problem = std::move(what), .hint = std::move(hint)});
  };
  const std::string place = folder.path().string() + "/";
  if (folder.has("model_index.json")) {
    std::vector<std::string> parts;
    for (const char* part : {"text_encoder", "text_encoder_2", "text_encoder_3", "image_encoder"}) {
      if (any([&](const std::string& name) { return name == part; })) {
        parts.push_back(verbatim(place + part));
      }
    }
    refuse_as(
        "is a pipeline of diffusers, whose models are in its subfolders",
        parts.empty() ? "pass the subfolder of a transformer" : "pass " + join(parts, " or "));
  }
  if (const auto checkpoint = last_numbered(names, "checkpoint-")) {
    refuse_as("contains no weights, but checkpoints of a training run",
              "pass " + verbatim(place + *checkpoint));
  }
  if (any([](const std::string& name) { return name.ends_with(".distcp"); })) {
    refuse_as("contains parts of a distributed checkpoint of PyTorch without their .metadata",
              "copy the .metadata file of the same checkpoint into the folder");
  }
  if (folder.has("latest_checkpointed_iteration.txt") ||
      any([](const std::string& name) { return name.starts_with("mp_rank_"); })) {
    refuse_as("contains the ranks of a Megatron checkpoint, which is not supported",
              "convert it to the format of transformers with Megatron's own tools");
  }
  if (any([](const std::string& name) {
        return name.ends_with(".ckpt.index") || name.find(".ckpt.data-") != std::string::npos ||
               name == "saved_model.pb";
      })) {
    refuse_as("contains a TensorFlow checkpoint, which is not supported",
              "convert it with transformers 4: from_pretrained(…, from_tf=True)");
  }
}

}  // namespace attnscope
