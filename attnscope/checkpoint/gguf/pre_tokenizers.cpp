#include "attnscope/checkpoint/gguf/pre_tokenizers.h"

#include <algorithm>
#include <array>

namespace attnscope {
namespace {

// Source: the tokenizer.json of the models; ggml-org/llama.cpp, src/llama-vocab.cpp, for the names.

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

constexpr std::array kPreTokenizers = {
    PreTokenizer{.name = "default"},
    PreTokenizer{.name = "gpt-2"},
    PreTokenizer{.name = "gpt2"},
    PreTokenizer{.name = "phi-2"},
    PreTokenizer{.name = "olmo", .normalizes = true},  // that of GPT-NeoX and Pythia, too
    PreTokenizer{.name = "llama-bpe", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "llama3", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "llama-v3", .pattern = kLlama3, .whole_words = true, .begins = true},
    PreTokenizer{.name = "dbrx", .pattern = kLlama3},
    PreTokenizer{.name = "qwen2", .pattern = kQwen2, .normalizes = true},
    PreTokenizer{.name = "deepseek-r1-qwen", .pattern = kQwen2, .normalizes = true},
    PreTokenizer{.name = "tekken", .pattern = kTekken, .whole_words = true, .begins = true},
    PreTokenizer{.name = "gpt-4o", .pattern = kGpt4o},
    PreTokenizer{.name = "smollm", .single_digits = true},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::find_if(kPreTokenizers.begin(), kPreTokenizers.end(),
                                  [&](const PreTokenizer& known) { return known.name == name; });
  return found == kPreTokenizers.end() ? nullptr : &*found;
}

}  // namespace attnscope
