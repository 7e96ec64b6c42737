// Every architecture, on the tiny checkpoints in tests/data. tools/make_golden.py made them with
// transformers, together with the values that transformers reports.
#include "attnscope/model/known_architectures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "attnscope/model/model.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kTests = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests";

std::vector<std::string> checkpoints() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kTests / "data")) {
    if (fs::exists(entry.path() / "config.json")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json golden_facts(const std::string& name) {
  std::ifstream file(kTests / "golden" / (name + ".json"));
  return nlohmann::json::parse(file)["facts"];
}

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json as_golden(const ModelSummary& facts) {
  return {{"architecture", facts.architecture},
          {"parameters", facts.parameters},
          {"attention_parameters", facts.attention_parameters},
          {"layers", facts.layers},
          {"heads", facts.heads},
          {"kv_heads", facts.kv_heads},
          {"head_dim", facts.head_dim},
          {"hidden_size", facts.width},
          {"intermediate_size", or_null(facts.mlp_width)},
          {"vocab_size", or_null(facts.vocabulary)},
          {"context_length", or_null(facts.context)},
          {"dtype", facts.dtype},
          {"kv_cache_bytes_per_token", or_null(facts.kv_cache_bytes_per_token)},
          {"tied_embedding", or_null(facts.tied_embedding)}};
}

TEST(Architectures, AgreeWithTransformersOnModelInfo) {
  for (const std::string& name : checkpoints()) {
    SCOPED_TRACE(name);
    auto golden = golden_facts(name);
    // The golden file has the literal model_type.
    const auto family = find_architecture_by_type(golden["architecture"].get<std::string>());
    ASSERT_TRUE(family);
    golden["architecture"] = family->name;

    const Model model = Model::open(kTests / "data" / name);
    EXPECT_EQ(as_golden(summarize(model)), golden);
    EXPECT_EQ(model.name(), name);
  }
}

TEST(Architectures, AllHaveACheckpoint) {
  std::set<std::string> seen;
  for (const std::string& name : checkpoints()) {
    seen.insert(Model::open(kTests / "data" / name).spec().architecture.name);
  }
  // Families that differ from these only in the forward pass are run but not measured. Hybrid
  // models have separate golden files.
  for (const char* folder : {"forward", "hybrid", "weights_only"}) {
    for (const auto& entry : fs::directory_iterator(kTests / "data" / folder)) {
      if (!fs::exists(entry.path() / "config.json")) continue;
      seen.insert(Model::open(entry.path()).spec().architecture.name);
    }
  }
  for (const auto& entry : fs::directory_iterator(kTests / "data/stacks")) {
    const auto stacks = Model::open_stacks(Checkpoint::open(entry.path()), std::nullopt, "");
    seen.insert(stacks.front().spec().architecture.name);
  }
  for (const Architecture& architecture : known_architectures()) {
    EXPECT_EQ(seen.count(architecture.name), 1u) << architecture.name;
  }
}

TEST(Architectures, HaveEveryAttentionProjectionOfEveryLayer) {
  for (const std::string& name : checkpoints()) {
    const Model model = Model::open(kTests / "data" / name);
    for (const Role role : {Role::query, Role::key, Role::value, Role::output, Role::up, Role::down,
                            Role::qk, Role::ov, Role::kv}) {
      EXPECT_TRUE(model.has(role)) << name << " " << role_name(role);
    }
    for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
      for (const Role role : kProjections) {
        if (!model.has(role)) continue;
        const Weight& weight = model.weight(layer, role);
        ASSERT_NE(weight.tensor, nullptr);
        EXPECT_EQ(std::pair(weight.matrix.rows, weight.matrix.cols),
                  canonical_shape(model.dimensions(), role))
            << name << " " << role_name(role);
      }
    }
  }
}

/// Whether a tensor of a multimodal checkpoint does not belong to the language model.
bool is_of_another_model(const std::string& name) {
  return name.starts_with("vision_tower.") || name.starts_with("multi_modal_projector.");
}

TEST(Architectures, AssignARoleToEveryTensor) {
  for (const std::string& name : checkpoints()) {
    const Model model = Model::open(kTests / "data" / name);
    const Inventory inventory = take_inventory(model, declared_copies(model));
    for (const TensorSummary& tensor : inventory.tensors) {
      if (tensor.role != "other") continue;
      EXPECT_TRUE(is_of_another_model(tensor.name)) << name << ": " << tensor.name;
    }
  }
}

}  // namespace
}  // namespace attnscope
