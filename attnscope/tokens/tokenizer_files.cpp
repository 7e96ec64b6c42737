#include "attnscope/tokens/tokenizer_files.h"

#include <initializer_list>

#include "attnscope/tokens/old_tokenizers.h"
#include "attnscope/tokens/tokenizer_config.h"

namespace attnscope {

std::optional<TokenizerFiles> find_tokenizer_files(const CheckpointFolder& folder) {
  const bool whole = folder.has("tokenizer.json");
  const bool byte_level = folder.has("vocab.json") && folder.has("merges.txt");
  if (!whole && !byte_level && !folder.has("vocab.txt")) return std::nullopt;

  const TokenizerConfig config = read_tokenizer_config(folder);
  TokenizerFiles out{.special = config.special};
  if (whole) {
    out.file = folder.place_of("tokenizer.json");
    out.json = folder.read_text("tokenizer.json", kTokenizerLimitBytes);
  } else if (byte_level) {
    out.file = folder.place_of("vocab.json");
    out.json = byte_level_json(folder, config);
  } else {
    out.file = folder.place_of("vocab.txt");
    out.json = word_piece_json(folder, config);
  }
  return out;
}

SpecialTokens special_tokens_of(
    const SpecialSpellings& named,
    const std::function<std::optional<std::int64_t>(std::string_view)>& id_of) {
  const auto find = [&](std::string_view key, std::initializer_list<std::string_view> usual) {
    if (const auto spelling = named.find(key); spelling != named.end()) {
      return id_of(spelling->second);
    }
    for (const std::string_view spelling : usual) {
      if (const auto id = id_of(spelling)) return id;
    }
    return std::optional<std::int64_t>();
  };
  return {.mask = find("mask_token", {"[MASK]", "<mask>"}),
          .begin = find("bos_token", {"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"}),
          .end = find("eos_token", {"</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>"}),
          .unknown = find("unk_token", {"[UNK]", "<unk>"}),
          .padding = find("pad_token", {"[PAD]", "<pad>"})};
}

}  // namespace attnscope
