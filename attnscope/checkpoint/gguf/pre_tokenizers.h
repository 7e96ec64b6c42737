// How byte-level tokenizers split a text into words before joining bytes, by llama.cpp's name for
// each way (tokenizer.ggml.pre).
#pragma once

#include <string_view>

namespace attnscope {

struct PreTokenizer {
  std::string_view name;
  std::string_view pattern;  // of words, as Hugging Face's Split has it; empty: GPT-2's
  /// In place of the pattern, all steps as a tokenizer.json lists them; the last cuts into bytes.
  std::string_view steps = {};
  bool normalizes = false;     // texts are brought into NFC first
  bool single_digits = false;  // each digit is a word, whatever the pattern says
  bool whole_words = false;    // a word that is a token is not built from merges
  bool begins = false;         // a text gets the first token even if the file does not say so
  bool ends = false;           // likewise the last
};

/// Null for a name that is not known.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace attnscope
