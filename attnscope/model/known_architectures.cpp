#include "attnscope/model/known_architectures.h"

#include <algorithm>

namespace attnscope {

// One function per family, each in the file of its name in families/ (close relatives share one).
#define ATTNSCOPE_FAMILIES(FAMILY) \
  FAMILY(albert)                   \
  FAMILY(arcee)                    \
  FAMILY(bart)                     \
  FAMILY(bert)                     \
  FAMILY(bloom)                    \
  FAMILY(camembert)                \
  FAMILY(clip)                     \
  FAMILY(codegen)                  \
  FAMILY(cohere)                   \
  FAMILY(cohere2)                  \
  FAMILY(daisy_gpt2)               \
  FAMILY(deberta_v2)               \
  FAMILY(deepseek_v2)              \
  FAMILY(deepseek_v3)              \
  FAMILY(deepseek_v32)             \
  FAMILY(deepseek_v4)              \
  FAMILY(deit)                     \
  FAMILY(dinov2)                   \
  FAMILY(dinov2_with_registers)    \
  FAMILY(dinov3_vit)               \
  FAMILY(distilbert)               \
  FAMILY(dots1)                    \
  FAMILY(electra)                  \
  FAMILY(ernie4_5)                 \
  FAMILY(ernie4_5_moe)             \
  FAMILY(esm)                      \
  FAMILY(exaone4)                  \
  FAMILY(falcon)                   \
  FAMILY(falcon_h1)                \
  FAMILY(gemma)                    \
  FAMILY(gemma2)                   \
  FAMILY(gemma3)                   \
  FAMILY(gemma3n)                  \
  FAMILY(gemma4)                   \
  FAMILY(glm)                      \
  FAMILY(glm4)                     \
  FAMILY(glm4_moe)                 \
  FAMILY(glm_moe_dsa)              \
  FAMILY(gpt2)                     \
  FAMILY(gpt_bigcode)              \
  FAMILY(gpt_neo)                  \
  FAMILY(gpt_neox)                 \
  FAMILY(gpt_oss)                  \
  FAMILY(gptj)                     \
  FAMILY(granite)                  \
  FAMILY(granitemoe)               \
  FAMILY(granitemoehybrid)         \
  FAMILY(granitemoeshared)         \
  FAMILY(helium)                   \
  FAMILY(hubert)                   \
  FAMILY(hunyuan_v1_dense)         \
  FAMILY(hunyuan_v1_moe)           \
  FAMILY(jamba)                    \
  FAMILY(kimi_linear)              \
  FAMILY(lfm2)                     \
  FAMILY(llama)                    \
  FAMILY(llama4)                   \
  FAMILY(m2m_100)                  \
  FAMILY(marian)                   \
  FAMILY(mbart)                    \
  FAMILY(minicpm3)                 \
  FAMILY(minimax_m2)               \
  FAMILY(ministral3)               \
  FAMILY(mistral)                  \
  FAMILY(mistral4)                 \
  FAMILY(mixtral)                  \
  FAMILY(modernbert)               \
  FAMILY(mpnet)                    \
  FAMILY(mpt)                      \
  FAMILY(mt5)                      \
  FAMILY(nemotron)                 \
  FAMILY(nemotron_h)               \
  FAMILY(nomic_bert)               \
  FAMILY(olmo)                     \
  FAMILY(olmo2)                    \
  FAMILY(olmo3)                    \
  FAMILY(olmoe)                    \
  FAMILY(opt)                      \
  FAMILY(pegasus)                  \
  FAMILY(phi)                      \
  FAMILY(phi3)                     \
  FAMILY(phimoe)                   \
  FAMILY(qwen2)                    \
  FAMILY(qwen2_moe)                \
  FAMILY(qwen2_vl)                 \
  FAMILY(qwen3)                    \
  FAMILY(qwen3_5)                  \
  FAMILY(qwen3_5_moe)              \
  FAMILY(qwen3_moe)                \
  FAMILY(qwen3_next)               \
  FAMILY(qwen3_vl)                 \
  FAMILY(qwen3_vl_moe)             \
  FAMILY(roberta)                  \
  FAMILY(seed_oss)                 \
  FAMILY(siglip)                   \
  FAMILY(smollm3)                  \
  FAMILY(stablelm)                 \
  FAMILY(starcoder2)               \
  FAMILY(t5)                       \
  FAMILY(umt5)                     \
  FAMILY(vit)                      \
  FAMILY(wav2vec2)                 \
  FAMILY(whisper)                  \
  FAMILY(xlm_roberta)              \
  FAMILY(zamba2)

#define ATTNSCOPE_DECLARE(family) Architecture family();
ATTNSCOPE_FAMILIES(ATTNSCOPE_DECLARE)
#undef ATTNSCOPE_DECLARE

namespace {

struct Family {
  std::string_view name;  // most often its model_type
  Architecture (*describe)();
};

constexpr Family kFamilies[] = {
#define ATTNSCOPE_ENTRY(family) {#family, family},
    ATTNSCOPE_FAMILIES(ATTNSCOPE_ENTRY)
#undef ATTNSCOPE_ENTRY
};
#undef ATTNSCOPE_FAMILIES

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const std::vector<Architecture>& known_architectures() {
  static const std::vector<Architecture> all = [] {
    std::vector<Architecture> described;
    described.reserve(std::size(kFamilies));
    for (const Family& family : kFamilies) described.push_back(family.describe());
    return described;
  }();
  return all;
}

std::optional<Architecture> find_architecture_by_type(std::string_view model_type) {
  // To describe all families takes as long as a small model's forward pass: the likely one first.
  for (const Family& family : kFamilies) {
    if (family.name != model_type) continue;
    Architecture likely = family.describe();
    if (has(likely.model_types, model_type)) return likely;
  }
  for (const Architecture& architecture : known_architectures()) {
    if (has(architecture.model_types, model_type)) return architecture;
  }
  return std::nullopt;
}

std::optional<Architecture> find_architecture_by_class(std::string_view class_name) {
  // "GPT2LMHeadModel", "BertForMaskedLM", "OPTModel": the family, then what it is used for.
  std::size_t end = class_name.size();
  for (const std::string_view use : {"For", "LMHead", "DoubleHeads", "Model", "PreTrained"}) {
    end = std::min(end, class_name.find(use));
  }
  const std::string_view family = class_name.substr(0, end);
  for (const Architecture& architecture : known_architectures()) {
    if (has(architecture.class_families, family)) return architecture;
  }
  return std::nullopt;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : known_architectures()) names.push_back(architecture.name);
  return names;
}

}  // namespace attnscope
