#include "attnscope/model/known_architectures.h"

#include <algorithm>

namespace attnscope {

// One function per family, each in the file of its name in families/ (close relatives share one).
Architecture albert();
Architecture arcee();
Architecture bert();
Architecture bloom();
Architecture camembert();
Architecture codegen();
Architecture cohere();
Architecture cohere2();
Architecture daisy_gpt2();
Architecture deberta_v2();
Architecture deepseek_v2();
Architecture deepseek_v3();
Architecture deepseek_v32();
Architecture deepseek_v4();
Architecture distilbert();
Architecture dots1();
Architecture electra();
Architecture ernie4_5();
Architecture ernie4_5_moe();
Architecture esm();
Architecture exaone4();
Architecture falcon();
Architecture falcon_h1();
Architecture gemma();
Architecture gemma2();
Architecture gemma3();
Architecture gemma3n();
Architecture gemma4();
Architecture glm();
Architecture glm4();
Architecture glm4_moe();
Architecture glm_moe_dsa();
Architecture gpt2();
Architecture gpt_bigcode();
Architecture gpt_neo();
Architecture gpt_neox();
Architecture gpt_oss();
Architecture gptj();
Architecture granite();
Architecture granitemoe();
Architecture granitemoehybrid();
Architecture granitemoeshared();
Architecture helium();
Architecture hunyuan_v1_dense();
Architecture hunyuan_v1_moe();
Architecture jamba();
Architecture kimi_linear();
Architecture lfm2();
Architecture llama();
Architecture llama4();
Architecture minicpm3();
Architecture minimax_m2();
Architecture ministral3();
Architecture mistral();
Architecture mistral4();
Architecture mixtral();
Architecture modernbert();
Architecture mpnet();
Architecture mpt();
Architecture nemotron();
Architecture nemotron_h();
Architecture nomic_bert();
Architecture olmo();
Architecture olmo2();
Architecture olmo3();
Architecture olmoe();
Architecture opt();
Architecture phi();
Architecture phi3();
Architecture phimoe();
Architecture qwen2();
Architecture qwen2_moe();
Architecture qwen2_vl();
Architecture qwen3();
Architecture qwen3_5();
Architecture qwen3_5_moe();
Architecture qwen3_moe();
Architecture qwen3_next();
Architecture qwen3_vl();
Architecture qwen3_vl_moe();
Architecture roberta();
Architecture seed_oss();
Architecture smollm3();
Architecture stablelm();
Architecture starcoder2();
Architecture xlm_roberta();
Architecture zamba2();

const std::vector<Architecture>& known_architectures() {
  static const std::vector<Architecture> all = {
      albert(),
      arcee(),
      bert(),
      bloom(),
      camembert(),
      codegen(),
      cohere(),
      cohere2(),
      daisy_gpt2(),
      deberta_v2(),
      deepseek_v2(),
      deepseek_v3(),
      deepseek_v32(),
      deepseek_v4(),
      distilbert(),
      dots1(),
      electra(),
      ernie4_5(),
      ernie4_5_moe(),
      esm(),
      exaone4(),
      falcon(),
      falcon_h1(),
      gemma(),
      gemma2(),
      gemma3(),
      gemma3n(),
      gemma4(),
      glm(),
      glm4(),
      glm4_moe(),
      glm_moe_dsa(),
      gpt2(),
      gpt_bigcode(),
      gpt_neo(),
      gpt_neox(),
      gpt_oss(),
      gptj(),
      granite(),
      granitemoe(),
      granitemoehybrid(),
      granitemoeshared(),
      helium(),
      hunyuan_v1_dense(),
      hunyuan_v1_moe(),
      jamba(),
      kimi_linear(),
      lfm2(),
      llama(),
      llama4(),
      minicpm3(),
      minimax_m2(),
      ministral3(),
      mistral(),
      mistral4(),
      mixtral(),
      modernbert(),
      mpnet(),
      mpt(),
      nemotron(),
      nemotron_h(),
      nomic_bert(),
      olmo(),
      olmo2(),
      olmo3(),
      olmoe(),
      opt(),
      phi(),
      phi3(),
      phimoe(),
      qwen2(),
      qwen2_moe(),
      qwen2_vl(),
      qwen3(),
      qwen3_5(),
      qwen3_5_moe(),
      qwen3_moe(),
      qwen3_next(),
      qwen3_vl(),
      qwen3_vl_moe(),
      roberta(),
      seed_oss(),
      smollm3(),
      stablelm(),
      starcoder2(),
      xlm_roberta(),
      zamba2(),
  };
  return all;
}

const Architecture* find_architecture_by_type(std::string_view model_type) {
  for (const Architecture& architecture : known_architectures()) {
    const auto& types = architecture.model_types;
    if (std::find(types.begin(), types.end(), model_type) != types.end()) return &architecture;
  }
  return nullptr;
}

const Architecture* find_architecture_by_class(std::string_view class_name) {
  // "GPT2LMHeadModel", "BertForMaskedLM", "OPTModel": the family, then what it is used for.
  std::size_t end = class_name.size();
  for (const std::string_view use : {"For", "LMHead", "DoubleHeads", "Model", "PreTrained"}) {
    end = std::min(end, class_name.find(use));
  }
  const std::string_view family = class_name.substr(0, end);
  for (const Architecture& architecture : known_architectures()) {
    const auto& families = architecture.class_families;
    if (std::find(families.begin(), families.end(), family) != families.end()) {
      return &architecture;
    }
  }
  return nullptr;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& architecture : known_architectures()) names.push_back(architecture.name);
  return names;
}

}  // namespace attnscope
