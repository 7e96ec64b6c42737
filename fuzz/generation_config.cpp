// generation_config.json: its generation rules, and their effect on logits.
#include "attnscope/forward/generation/logits_processors.h"

#include <array>
#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/forward/generation/generation_config.h"
#include "attnscope/model/config/parse_config.h"
#include "fuzz/tiny_model.h"

using namespace attnscope;

namespace {

const char* const kConfig =
    R"({"model_type": "gpt2", "n_embd": 4, "n_head": 2, "n_layer": 1, "n_positions": 4,
        "vocab_size": 4})";

/// Reads every kind of value at its keys.
void read_all(const GenerationFile& file) {
  const auto read = [](const auto& value) {
    try {
      value();
    } catch (const Error&) {
    }
  };
  read([&] { file.places("forced_decoder_ids"); });
  read([&] { file.named_ids("lang_to_id"); });
  read([&] { file.named_ids("task_to_id"); });
  read([&] { file.text("language"); });
  read([&] { file.flag("return_timestamps"); });
  read([&] { file.number("no_timestamps_token_id"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::TinyCheckpoint tiny;
  static const ModelSpec known = parse_config(kConfig, "config.json");
  ModelSpec spec = known;
  spec.text.assign(reinterpret_cast<const char*>(data), size);
  const Model model(tiny.open(), spec);
  try {
    read_all(GenerationFile::of(model));
    const GenerationRules rules = generation_rules(model, {1});
    const TokenIds text = {0, 1, 2, 1, 2};
    for (std::int64_t tokens = 1; tokens <= 5; ++tokens) {
      std::array<float, 6> logits = {0.5F, -1, 2, 0, -3, 1};
      apply_rules(rules, std::span(text).first(static_cast<std::size_t>(tokens)), 1, 4, logits);
    }
  } catch (const Error&) {
  }
  return 0;
}
