#include "attnscope/engine/store/digests.h"

#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {

std::string digest_of_texts(std::initializer_list<std::string_view> texts) {
  Value::List list(texts.begin(), texts.end());
  return content_hash(record_text({{"texts", std::move(list)}}));
}

std::string analysis_digest(const StoredAnalysis& analysis, const std::string& parameters) {
  return digest_of_texts(
      {analysis.name, std::to_string(analysis.revision), analysis.command, parameters});
}

std::string item_digest(const std::string& inputs, std::span<const Outcome> outcomes) {
  Value::List list;
  for (const Outcome& outcome : outcomes) {
    list.emplace_back(Record{{"head", outcome.head},
                             {"fields", record_text(outcome.fields)},
                             {"skipped", outcome.skipped},
                             {"note", outcome.note}});
  }
  return content_hash(record_text({{"inputs", inputs}, {"outcomes", std::move(list)}}));
}

std::string place_digest(std::int64_t analysis, std::int64_t model,
                         std::optional<std::int64_t> layer, const std::string& matrix,
                         std::int64_t position, const std::string& item) {
  return content_hash(record_text({{"analysis", analysis},
                                   {"model", model},
                                   {"layer", layer},
                                   {"matrix", matrix},
                                   {"position", position},
                                   {"item", item}}));
}

}  // namespace attnscope
