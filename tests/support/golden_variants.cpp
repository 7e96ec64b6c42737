#include "tests/support/golden_variants.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>

#include "attnscope/model/config/parse_config.h"
#include "attnscope/tensor/decode.h"

namespace attnscope::test {
namespace {

using nlohmann::json;

/// The entries of the folder's variants.json. Without the file there is only the main variant.
json entries_in(const std::filesystem::path& folder) {
  std::ifstream file(folder / "variants.json");
  return file ? json::parse(file) : json::array();
}

json entry_of(const Variant& variant, const std::string& spelling) {
  for (const json& entry : entries_in(variant.folder())) {
    if (entry["name"] == variant.name && entry.value("spelling", "") == spelling) return entry;
  }
  if (variant.name.empty() && spelling.empty()) return json::object();
  throw std::out_of_range(variant.title() + ": no such variant");
}

Checkpoint expected_in(const std::filesystem::path& folder) {
  return Checkpoint::open(folder / "expected.safetensors");
}

std::string prefix_of(const std::string& variant) { return variant.empty() ? "" : variant + "/"; }

/// The tensors of a kind that only some variants have.
GoldenTensors tensors_of_kind(const Variant& variant, const std::string& kind) {
  const std::string owner = entry_of(variant, "").at(kind);
  return {expected_in(variant.folder()), prefix_of(owner) + kind + "."};
}

}  // namespace

std::filesystem::path Variant::folder() const {
  return std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / data / model;
}

std::string Variant::title() const {
  return model + (name.empty() ? "" : "." + name) + (spelling.empty() ? "" : "." + spelling);
}

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.title(); }

std::vector<Variant> variants_in(const std::string& data) {
  std::vector<Variant> out;
  const auto models = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data" / data;
  for (const auto& folder : std::filesystem::directory_iterator(models)) {
    const auto main = static_cast<std::ptrdiff_t>(out.size());
    out.push_back({.model = folder.path().filename().string(), .data = data});
    for (const json& entry : entries_in(folder)) {
      Variant variant{.model = out[static_cast<std::size_t>(main)].model,
                      .name = entry["name"],
                      .spelling = entry.value("spelling", ""),
                      .data = data,
                      .has_routing = entry.contains("routing"),
                      .has_generated = entry.contains("generated")};
      if (variant.name.empty() && variant.spelling.empty()) {
        out[static_cast<std::size_t>(main)] = std::move(variant);
        continue;
      }
      // Another spelling of an earlier variant has the same tensors.
      const auto same = std::find_if(out.begin() + main, out.end(), [&](const Variant& other) {
        return other.name == variant.name;
      });
      if (same != out.end()) {
        variant.has_routing = same->has_routing;
        variant.has_generated = same->has_generated;
      }
      out.push_back(std::move(variant));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Variant& a, const Variant& b) { return a.model < b.model; });
  return out;
}

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> all = variants_in("forward");
  return all;
}

json config_of(const Variant& variant) {
  std::ifstream file(variant.folder() / "config.json");
  json config = json::parse(file);
  if (variant.name.empty() && variant.spelling.empty()) return config;
  const json entry = entry_of(variant, variant.spelling);
  if (entry.contains("set")) config.update(entry["set"]);
  if (entry.contains("remove")) {
    for (const std::string key : entry["remove"]) config.erase(key);
  }
  return config;
}

Model model_of(const Variant& variant) {
  Checkpoint checkpoint = Checkpoint::open(variant.folder() / "model.safetensors");
  compose_by_config(checkpoint);
  return Model(std::move(checkpoint), parse_config(config_of(variant).dump(), variant.title()));
}

const CheckpointTensor* GoldenTensors::find(std::string_view name) const {
  return file_.find(prefix_ + std::string(name));
}

GoldenTensors expected_of(const Variant& variant) {
  const std::string owner = entry_of(variant, "").value("expected", variant.name);
  return {expected_in(variant.folder()), prefix_of(owner)};
}

GoldenTensors routing_of(const Variant& variant) { return tensors_of_kind(variant, "routing"); }

GoldenTensors generated_of(const Variant& variant) { return tensors_of_kind(variant, "generated"); }

std::vector<float> values_of(const CheckpointTensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.view.element_count()));
  decode_elements(tensor.view, 0, 1, std::ssize(out), out.data());
  return out;
}

TokenIds ids_of(const CheckpointTensor& tensor) {
  TokenIds ids;
  for (std::size_t at = 0; at < tensor.view.bytes.size(); at += sizeof(std::int32_t)) {
    std::int32_t id = 0;
    std::memcpy(&id, tensor.view.bytes.data() + at, sizeof id);
    ids.push_back(id);
  }
  return ids;
}

std::string name_of_case(const testing::TestParamInfo<Variant>& variant) {
  std::string name = variant.param.title();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace attnscope::test
