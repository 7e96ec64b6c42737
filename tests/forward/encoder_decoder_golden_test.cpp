// Encoder-decoders of each family and variant, compared with transformers. Expected values:
// tools/golden_seq2seq.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/generation/decoder_prompt.h"
#include "attnscope/forward/generation/greedy_decoding.h"
#include "attnscope/forward/generation/logits_processors.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden_variants.h"
#include "tests/support/json.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using namespace test;

/// A folder with the weights of the model and the config of the variant.
class VariantFolder {
 public:
  explicit VariantFolder(const Variant& variant) {
    std::filesystem::create_symlink(variant.folder() / "model.safetensors",
                                    folder_.path() / "model.safetensors");
    folder_.write("config.json", config_of(variant).dump());
  }
  std::vector<Model> open() const {
    return Model::open_stacks(Checkpoint::open(folder_.path()), std::nullopt, "model");
  }

 private:
  TempFolder folder_;
};

const Model& decoder_of(const std::vector<Model>& stacks) { return stacks.at(1); }

using Named = std::map<std::string, std::vector<float>>;

/// Encoder inputs: exactly one of these is set.
struct Sources {
  std::vector<TokenIds> texts;
  std::vector<MediaInput> audio_inputs;

  std::size_t size() const { return texts.size() + audio_inputs.size(); }
  Sources only(std::size_t at) const {
    return texts.empty() ? Sources{{}, {audio_inputs[at]}} : Sources{{texts[at]}, {}};
  }
  std::vector<std::int64_t> lengths(const ForwardPass& pass) const {
    std::vector<std::int64_t> out;
    for (const TokenIds& text : texts) out.push_back(std::ssize(text));
    for (const MediaInput& audio : audio_inputs) out.push_back(pass.encoder()->length_of(audio));
    return out;
  }
  EncoderOutput encoded(const ForwardPass& pass, const ForwardObserver& observer) const {
    return texts.empty() ? pass.encode(audio_inputs, observer, {})
                         : pass.encode(texts, observer, {});
  }
};

std::vector<std::int64_t> lengths_of(const std::vector<TokenIds>& sequences) {
  std::vector<std::int64_t> out;
  for (const TokenIds& sequence : sequences) out.push_back(std::ssize(sequence));
  return out;
}

/// Collects the outputs of each sequence under the names of the golden tensors.
ForwardObserver taking(std::vector<Named>& out, const std::vector<std::int64_t>& lengths,
                       const std::string& prefix) {
  const auto add_maps = [&out](const LayerMaps& layer, const std::string& name) {
    for (std::size_t at = 0; at < out.size(); ++at) {
      for (std::int64_t head = 0; head < layer.heads; ++head) {
        append(out[at][name], layer.map(static_cast<std::int64_t>(at), head));
      }
    }
  };
  return {.on_hidden_states =
              [&out, lengths, prefix](std::int64_t, MatrixView<const float> states) {
                std::int64_t first = 0;
                for (std::size_t at = 0; at < out.size(); ++at) {
                  const std::int64_t rows = lengths[at];
                  append(out[at][prefix + "hidden_states"], states.row_block(first, rows));
                  first += rows;
                }
              },
          .on_maps = [=](const LayerMaps& layer) { add_maps(layer, prefix + "attentions"); },
          .on_cross_maps = [=](const LayerMaps& layer) { add_maps(layer, "cross_attentions"); }};
}

std::vector<Named> run(const ForwardPass& pass, const Sources& sources,
                       const std::vector<TokenIds>& targets) {
  std::vector<Named> out(sources.size());
  const EncoderOutput encoder_output =
      sources.encoded(pass, taking(out, sources.lengths(pass), "encoder_"));
  const Matrix<float> last =
      pass.run(targets, taking(out, lengths_of(targets), ""), {}, {}, &encoder_output);
  const Matrix<float> logits = pass.logits(last.view(), {});
  std::int64_t first = 0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    append(out[at]["logits"], logits.view().row_block(first, std::ssize(targets[at])));
    first += std::ssize(targets[at]);
  }
  return out;
}

Sources golden_sources(const GoldenTensors& expected) {
  Sources out{.texts = texts_of(expected, "sources"), .audio_inputs = {}};
  while (const auto* features =
             expected.find("features." + std::to_string(out.audio_inputs.size()))) {
    out.audio_inputs.push_back({.shape = features->view.shape, .values = values_of(*features)});
  }
  return out;
}

/// The largest difference of any tensor, relative to its tolerance.
double worst_of(const std::vector<Named>& got, const GoldenTensors& expected) {
  double worst = 0;
  for (std::size_t at = 0; at < got.size(); ++at) {
    EXPECT_EQ(got[at].size(), 6U);
    for (const auto& [name, values] : got[at]) {
      const CheckpointTensor* wanted = expected.find(name + "." + std::to_string(at));
      if (wanted == nullptr) return INFINITY;
      const Shape& shape = wanted->view.shape;
      const double allowed = name.ends_with("attentions") ? kMapsTolerance : kStatesTolerance;
      const double error = error_of(values, values_of(*wanted), shape.size() > 2 ? shape[0] : 1);
      worst = std::max(worst, error / allowed);
    }
  }
  return worst;
}

class EncoderDecoderGolden : public testing::TestWithParam<Variant> {};

TEST_P(EncoderDecoderGolden, EqualsTransformers) {
  const VariantFolder folder(GetParam());
  const std::vector<Model> stacks = folder.open();
  const GoldenTensors expected = expected_of(GetParam());
  const Sources sources = golden_sources(expected);
  const auto targets = texts_of(expected, "targets");
  ASSERT_EQ(sources.size(), 3U);
  for (const bool copy_weights : {true, false}) {
    const ForwardPass pass(decoder_of(stacks), copy_weights, {});
    EXPECT_LE(worst_of(run(pass, sources, targets), expected), 1) << "together";
    for (std::size_t at = 0; at < sources.size(); ++at) {
      const std::vector<Named> alone = run(pass, sources.only(at), {targets[at]});
      for (const auto& [name, values] : alone.front()) {
        const CheckpointTensor* wanted = expected.find(name + "." + std::to_string(at));
        ASSERT_NE(wanted, nullptr) << name;
        const std::int64_t parts = wanted->view.shape.size() > 2 ? wanted->view.shape[0] : 1;
        EXPECT_LE(error_of(values, values_of(*wanted), parts),
                  name.ends_with("attentions") ? kMapsTolerance : kStatesTolerance)
            << name << " of pair " << at;
      }
    }
  }
}

/// Checks that the outputs detect a wrong config for the same weights.
TEST_P(EncoderDecoderGolden, DetectsAWrongVariant) {
  const Variant& own = GetParam();
  const GoldenTensors expected = expected_of(own);
  const Sources sources = golden_sources(expected);
  const auto targets = texts_of(expected, "targets");
  for (const Variant& other : variants_in("encoder_decoders")) {
    const bool same = other.name == own.name ||
                      (own.model == "t5" && other.name == "untied" && own.name == "unscaled");
    if (other.model != own.model || same || (other.name == "unscaled" && own.name == "untied")) {
      continue;
    }
    const VariantFolder folder(other);
    const std::vector<Model> stacks = folder.open();
    EXPECT_GT(worst_of(run(ForwardPass(decoder_of(stacks), true, {}), sources, targets), expected),
              2)
        << "as " << other.name;
  }
}

/// Prompt and generated tokens of a decoder under the rules of a generation_config.json, as in
/// `predict --generate`.
struct Written {
  TokenIds prompt, tokens;
};

Written written_by(const nlohmann::json& written, const std::string& model, const Sources& source,
                   std::int64_t count) {
  TempFolder folder;
  const Variant main{.model = model, .data = "encoder_decoders"};
  std::filesystem::create_symlink(main.folder() / "model.safetensors",
                                  folder.path() / "model.safetensors");
  std::filesystem::copy_file(main.folder() / "config.json", folder.path() / "config.json");
  folder.write("generation_config.json", written["rules"].dump());
  const auto stacks = Model::open_stacks(Checkpoint::open(folder.path()), std::nullopt, "model");
  const ForwardPass pass(decoder_of(stacks), true, {});
  const GenerationRules rules =
      generation_rules(pass.model(), end_tokens(pass.model(), /*tokenizer=*/nullptr));
  const EncoderOutput encoder_output = source.encoded(pass, {});
  const DecoderPrompt own = decoder_prompt(pass.model());
  Written out{.prompt = with_language(pass, own, encoder_output, {}), .tokens = {}};
  const std::int64_t given = std::ssize(out.prompt);
  const ChooseToken choose = [&](std::span<float> logits, std::span<const std::int64_t> text) {
    apply_rules(rules, text, given, count, logits);
    return most_likely_token(logits);
  };
  std::vector<KeyValueCache> cache;
  cache.emplace_back(pass.model().spec(), count + given);
  const Matrix<float> states = pass.run(std::span(&out.prompt, 1), {}, {}, cache, &encoder_output);
  Matrix<float> logits = pass.logits(states.view().row_block(given - 1, 1), {});
  const std::int64_t first =
      choose({logits.data(), static_cast<std::size_t>(logits.cols())}, out.prompt);
  out.tokens = generate_greedily(
                   pass, cache.front(), first, count, rules.ends, [](std::int64_t) {}, {}, choose)
                   .tokens;
  return out;
}

TEST(EncoderDecoderGeneration, GeneratesTheTokensOfTransformersForEachRule) {
  for (const Variant& variant : variants_in("encoder_decoders")) {
    const auto file = variant.folder() / "generated.json";
    if (!variant.name.empty() || !variant.spelling.empty() || !std::filesystem::exists(file)) {
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const auto golden = nlohmann::json::parse(text.str());
    ASSERT_GE(golden["written"].size(), 13U);
    const bool hears = golden["source"].is_null();
    const GoldenTensors expected = expected_of(variant);
    const Sources source =
        hears ? golden_sources(expected).only(0) : Sources{{golden["source"].get<TokenIds>()}, {}};
    for (const auto& written : golden["written"]) {
      Written got = written_by(written, variant.model, source, golden["count"].get<std::int64_t>());
      const std::string which = variant.model + ' ' + written["rules"].dump();
      if (hears) {
        EXPECT_EQ(got.prompt, written["prompt"].get<TokenIds>()) << which;
        if (got.tokens.back() == written["rules"]["eos_token_id"]) got.tokens.pop_back();
      } else {
        got.tokens.insert(got.tokens.begin(), got.prompt.begin(), got.prompt.end());
      }
      EXPECT_EQ(got.tokens, written["tokens"].get<TokenIds>()) << which;
    }
  }
}

/// Stepwise runs with a cache give the same as a run of the whole text.
TEST(EncoderDecoderGeneration, CachesKeysAndValuesOfTheEncoderOutput) {
  const Variant main{.model = "t5", .data = "encoder_decoders"};
  const VariantFolder folder(main);
  const std::vector<Model> stacks = folder.open();
  const ForwardPass pass(decoder_of(stacks), true, {});
  const TokenIds source = {5, 9, 3, 11, 7}, target = {0, 4, 8, 15, 16, 22};
  const EncoderOutput encoder_output = pass.encode(std::span(&source, 1), {}, {});
  const Matrix<float> whole = pass.run(std::span(&target, 1), {}, {}, {}, &encoder_output);
  std::vector<KeyValueCache> cache;
  cache.emplace_back(pass.model().spec(), std::ssize(target));
  for (std::size_t at = 0; at < target.size(); ++at) {
    const TokenIds next = {target[at]};
    const Matrix<float> states =
        pass.run(std::span(&next, 1), {}, {}, cache, at == 0 ? &encoder_output : nullptr);
    for (std::int64_t col = 0; col < states.cols(); ++col) {
      ASSERT_EQ(states(0, col), whole(static_cast<std::int64_t>(at), col)) << "token " << at;
    }
  }
  EXPECT_ERROR(ErrorKind::unsupported, pass.run(std::span(&target, 1), {}, {}));
}

TEST(EncoderDecoderPass, NamesTheMissingStack) {
  for (const char* missing : {"encoder", "cross"}) {
    const Variant main{.model = "bart", .data = "encoder_decoders"};
    const Checkpoint whole = Checkpoint::open(main.folder() / "model.safetensors");
    std::vector<TensorToWrite> kept;
    for (const CheckpointTensor& tensor : whole.tensors()) {
      const bool of_cross = tensor.name.find("encoder_attn") != std::string::npos;
      const bool of_encoder = tensor.name.find(".encoder.layers") != std::string::npos;
      if (missing == std::string("cross") ? of_cross : of_encoder) continue;
      kept.push_back(
          {tensor.name,
           "F16",
           tensor.view.shape,
           {reinterpret_cast<const char*>(tensor.view.bytes.data()), tensor.view.bytes.size()}});
    }
    TempFolder folder;
    folder.write("model.safetensors", safetensors_bytes(kept));
    std::filesystem::copy_file(main.folder() / "config.json", folder.path() / "config.json");
    const auto stacks = Model::open_stacks(Checkpoint::open(folder.path()), std::nullopt, "model");
    const auto decoder = std::find_if(stacks.begin(), stacks.end(), [](const Model& model) {
      return model.stack() == "decoder";
    });
    EXPECT_ERROR_SAYING(ErrorKind::format, ForwardPass(*decoder, true, {}), "has no", missing);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EncoderDecoderGolden,
                         testing::ValuesIn(variants_in("encoder_decoders")), name_of_case);

}  // namespace
}  // namespace attnscope
