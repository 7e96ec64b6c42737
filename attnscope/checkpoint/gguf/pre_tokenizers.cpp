#include "attnscope/checkpoint/gguf/pre_tokenizers.h"

#include <algorithm>
#include <array>

namespace attnscope {
namespace {

// Source: the tokenizer.json of the models; for the names: ggml-org/llama.cpp, src/llama-vocab.cpp.

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kBloom = R"( ?[^(\s|[.,!?…。，、।۔،])]+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Runs of Han characters are separate words. Source: moonshotai/Kimi-K2, tokenization_kimi.py.
constexpr std::string_view kKimi =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kFalcon = R"([
  {"type": "Punctuation", "behavior": "Contiguous"},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
  {"type": "Digits", "individual_digits": false},
  {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated",
   "invert": false}])";
/// Letters that Unicode normalization would change are written as code points.
constexpr std::string_view kDeepseekLlm =
    R"([
  {"type": "Split", "pattern": {"Regex": "[\r\n]"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵ)"
    R"(Ϸ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ)"
    R"(\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b)"
    R"(\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc)"
    R"(\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107)"
    R"(\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134)"
    R"(\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184)"
    R"(Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"},
   "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "\\s?[!-/:-~！-／：-～‘-‟　-。]+"}, "behavior": "Isolated",
   "invert": false},
  {"type": "Split", "pattern": {"Regex": "\\s+$"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "[一-龥ࠀ-一가-퟿]+"}, "behavior": "Isolated",
   "invert": false},
  {"type": "Digits", "individual_digits": true},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}])";
constexpr std::string_view kDeepseekCoder = R"([
  {"type": "Split", "pattern": {"Regex": "[\r\n]"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "\\s?\\p{L}+"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "\\s?\\p{P}+"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "[一-龥ࠀ-一가-퟿]+"}, "behavior": "Isolated",
   "invert": false},
  {"type": "Digits", "individual_digits": true},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}])";
constexpr std::string_view kDeepseekV3 =
    R"([
  {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}"}, "behavior": "Isolated", "invert": false},
  {"type": "Split", "pattern": {"Regex": "[一-龥぀-ゟ゠-ヿ]+"}, "behavior": "Isolated",
   "invert": false},
  {"type": "Split", "pattern": {"Regex": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-)"
    R"(z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+)"
    R"(|\\s+(?!\\S)|\\s+"},
   "behavior": "Isolated", "invert": false},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}])";

constexpr std::array kPreTokenizers = {
    PreTokenizer{.name = "default"},
    PreTokenizer{.name = "gpt-2"},
    PreTokenizer{.name = "gpt2"},
    PreTokenizer{.name = "phi-2"},
    PreTokenizer{.name = "exaone4"},
    PreTokenizer{.name = "olmo", .normalizes = true},  // also that of GPT-NeoX and Pythia
    PreTokenizer{.name = "mpt", .normalizes = true},
    PreTokenizer{.name = "roberta-bpe", .begins = true, .ends = true},
    PreTokenizer{.name = "modern-bert", .normalizes = true, .begins = true, .ends = true},
    PreTokenizer{.name = "llama-bpe", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "llama3", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "llama-v3", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "lfm2", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "dbrx", .pattern = kLlama3},
    PreTokenizer{.name = "smaug-bpe", .pattern = kLlama3},
    PreTokenizer{.name = "chatglm-bpe", .pattern = kLlama3},
    PreTokenizer{.name = "glm4", .pattern = kLlama3},
    PreTokenizer{.name = "qwen2", .pattern = kQwen2, .normalizes = true},
    PreTokenizer{.name = "deepseek-r1-qwen", .pattern = kQwen2, .normalizes = true},
    PreTokenizer{.name = "stablelm2", .pattern = kQwen2},
    PreTokenizer{.name = "hunyuan", .pattern = kQwen2},
    PreTokenizer{.name = "tekken", .pattern = kTekken, .whole_words = true, .begins = true},
    PreTokenizer{.name = "gpt-4o", .pattern = kGpt4o},
    PreTokenizer{.name = "llama4", .pattern = kGpt4o, .begins = true},
    PreTokenizer{.name = "minimax-m2", .pattern = kGpt4o},
    PreTokenizer{.name = "kimi-k2", .pattern = kKimi},
    PreTokenizer{.name = "seed-coder", .pattern = kSeedCoder},
    PreTokenizer{.name = "bloom", .pattern = kBloom},
    PreTokenizer{.name = "smollm", .single_digits = true},
    PreTokenizer{.name = "starcoder", .single_digits = true},
    PreTokenizer{.name = "refact", .single_digits = true},
    PreTokenizer{.name = "command-r", .normalizes = true, .single_digits = true},
    PreTokenizer{.name = "falcon", .steps = kFalcon},
    PreTokenizer{.name = "deepseek-llm", .steps = kDeepseekLlm},
    PreTokenizer{.name = "deepseek-coder", .steps = kDeepseekCoder},
    PreTokenizer{.name = "deepseek-v3", .steps = kDeepseekV3},
    PreTokenizer{.name = "hunyuan-dense", .steps = kDeepseekV3},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::find_if(kPreTokenizers.begin(), kPreTokenizers.end(),
                                  [&](const PreTokenizer& known) { return known.name == name; });
  return found == kPreTokenizers.end() ? nullptr : &*found;
}

}  // namespace attnscope
