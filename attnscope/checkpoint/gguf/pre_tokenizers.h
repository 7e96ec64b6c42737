// How byte-level tokenizers split a text into words before BPE, by llama.cpp's name for each rule
// (tokenizer.ggml.pre).
#pragma once

#include <string_view>

namespace attnscope {

struct PreTokenizer {
  std::string_view name;
  std::string_view pattern;  // pattern of words, as in Hugging Face's Split; empty: GPT-2's
  /// Replaces the pattern by all steps in the form of a tokenizer.json. The last step splits into
  /// bytes.
  std::string_view steps = {};
  bool normalizes = false;     // texts are normalized to NFC first
  bool single_digits = false;  // each digit is a word, whatever the pattern
  bool whole_words = false;    // a word that is a token is not built from merges
  bool begins = false;         // the first token is added by default
  bool ends = false;           // the last token is added by default
};

/// Returns null for an unknown name.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace attnscope
