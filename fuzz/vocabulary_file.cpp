// A SentencePiece model or a tiktoken file, as the tokenizer of Llama, T5 or DeBERTa-v2.
#include <cstdint>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/inputs/text/sentence_piece.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/inputs/text/tokenizer_files.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"LlamaTokenizer", "T5Tokenizer", "DebertaV2Tokenizer"}) {
    try {
      CheckpointFolder folder("input", {});
      folder.bring_text(
          "tokenizer.model", [&] { return file; }, "input");
      TokenizerConfig config;
      if (!file.empty()) config.tokenizer_class = name;
      const std::string json = vocabulary_file_json(folder, "tokenizer.model", config);
      Tokenizer::of_json(json, "input").encode("The cat, the \u00e9l\u00e8ve\n", /*special=*/true);
    } catch (const Error&) {
    }
  }
  return 0;
}
