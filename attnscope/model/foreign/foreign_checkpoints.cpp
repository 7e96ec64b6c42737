#include "attnscope/model/foreign/foreign_checkpoints.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/foreign/foreign_model.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSettingsBytes = 10'000'000;
constexpr std::int64_t kMaxForeignSize = std::int64_t{1} << 31;
constexpr std::array<ReadForeign, 7> kReaders = {read_nanogpt,      read_litgpt,  read_whisper_pt,
                                                 read_consolidated, read_fairseq, read_open_clip,
                                                 read_timm_vit};

/// Whether transformers, or a program that writes its files, describes the model.
bool is_described(const Checkpoint& checkpoint) {
  if (checkpoint.config()) return true;
  const CheckpointFolder& folder = checkpoint.folder();
  if (!folder.has("config.json")) return false;
  const std::string text = folder.read_text("config.json", kMaxSettingsBytes);
  // timm and open_clip write a config.json without these.
  return text.find("\"model_type\"") != std::string::npos ||
         text.find("\"architectures\"") != std::string::npos;
}

}  // namespace

void adopt_foreign_checkpoint(Checkpoint& checkpoint) {
  const std::string& stored = checkpoint.settings();
  const json settings = stored.empty() ? json::object() : json::parse(stored);
  // A config.json next to files of nanoGPT and LitGPT cannot say how they store weights.
  const bool described =
      !settings.contains("model_args") && !is_litgpt(checkpoint) && is_described(checkpoint);
  if (described) return;
  for (const ReadForeign read : kReaders) {
    std::optional<ForeignModel> model = read(checkpoint, settings);
    if (!model) continue;
    checkpoint.replace_tensors(std::move(model->tensors));
    checkpoint.use_config(std::move(model->config));
    return;
  }
}

std::optional<std::string> renamed(std::string_view name, const ModuleRenames& modules) {
  const std::size_t dot = name.rfind('.');
  const std::string_view ending = dot == std::string_view::npos ? "" : name.substr(dot);
  const bool is_parameter = ending == ".weight" || ending == ".bias";
  const std::string_view module = is_parameter ? name.substr(0, dot) : name;
  for (const auto& [from, to] : modules) {
    const auto match = match_pattern(from, module);
    if (!match) continue;
    return fill_pattern(to, {.layer = match->layer.value_or(0)}) +
           std::string(is_parameter ? ending : "");
  }
  return std::nullopt;
}

std::int64_t count_layers(const Checkpoint& checkpoint, std::string_view pattern) {
  std::int64_t layers = 0;
  while (checkpoint.find(fill_pattern(pattern, {.layer = layers})) != nullptr) ++layers;
  return layers;
}

CheckpointTensor rows_of(const Checkpoint& checkpoint, const CheckpointTensor& fused,
                         std::string name, std::int64_t first, std::int64_t count) {
  const TensorView& whole = fused.view;
  if (whole.shape.empty() || whole.shape[0] < first + count || whole.source != nullptr ||
      !whole.strides.empty()) {
    throw Error(ErrorKind::format,
                checkpoint.parts_of(fused, "expected at least " + std::to_string(first + count) +
                                               " rows, row-major"));
  }
  CheckpointTensor part = fused;
  part.name = std::move(name);
  part.view.shape[0] = count;
  const std::size_t row_bytes = whole.bytes.size() / static_cast<std::size_t>(whole.shape[0]);
  part.view.bytes = whole.bytes.subspan(static_cast<std::size_t>(first) * row_bytes,
                                        static_cast<std::size_t>(count) * row_bytes);
  return part;
}

CheckpointTensor part_of(const Checkpoint& checkpoint, const CheckpointTensor& fused,
                         std::string name, std::int64_t index, std::int64_t count) {
  const Shape& shape = fused.view.shape;
  if (shape.empty() || shape[0] % count != 0) {
    throw Error(ErrorKind::format,
                checkpoint.parts_of(
                    fused, "expected " + std::to_string(count) + " equal parts of its first axis"));
  }
  const std::int64_t rows = shape[0] / count;
  return rows_of(checkpoint, fused, std::move(name), index * rows, rows);
}

std::int64_t size_in(const json& settings, const char* key, const std::string& place) {
  const auto found = settings.find(key);
  if (found == settings.end() || !found->is_number_integer() || found->get<std::int64_t>() < 1 ||
      found->get<std::int64_t>() > kMaxForeignSize) {
    throw Error(ErrorKind::format,
                {.file = place,
                 .problem = "'" + std::string(key) + "' is missing or not a whole number from 1"});
  }
  return found->get<std::int64_t>();
}

json settings_file(const Checkpoint& checkpoint, const char* name) {
  const CheckpointFolder& folder = checkpoint.folder();
  if (!folder.has(name)) return nullptr;
  const std::string place = folder.place_of(name);
  json settings = parse_python_json(folder.read_text(name, kMaxSettingsBytes), place);
  if (!settings.is_object()) {
    throw Error(ErrorKind::format, {.file = place, .problem = "is not a JSON object"});
  }
  return settings;
}

void refuse_foreign(const Checkpoint& checkpoint, std::string_view tensor,
                    const std::string& program) {
  throw Error(ErrorKind::unsupported,
              {.file = checkpoint.main_file().string(),
               .tensor = std::string(tensor),
               .problem = verbatim("tensor '" + std::string(tensor) + "' belongs to a variant of " +
                                   program + " that is not supported"),
               .hint = "describe the model with {layout} FILE.json"});
}

}  // namespace attnscope
