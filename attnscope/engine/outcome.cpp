#include "attnscope/engine/outcome.h"

#include <utility>

#include "attnscope/rows/lossless_json.h"

namespace attnscope {

std::string outcomes_text(const std::vector<Outcome>& outcomes) {
  Value::List list;
  for (const Outcome& outcome : outcomes) {
    list.emplace_back(Record{{"head", outcome.head},
                             {"fields", outcome.fields},
                             {"skipped", outcome.skipped},
                             {"note", outcome.note}});
  }
  return record_text({{"outcomes", std::move(list)}});
}

std::vector<Outcome> parse_outcomes(std::string_view text, std::string_view where) {
  const Record record = parse_record(text, where);
  std::vector<Outcome> outcomes;
  for (const Value& value : expect<Value::List>(record, "outcomes")) {
    const Record& entry = expect<Record>(value, "outcomes");
    Outcome& outcome = outcomes.emplace_back();
    const Value* head = entry.find("head");
    if (head != nullptr && !head->is_null()) outcome.head = expect<std::int64_t>(*head, "head");
    outcome.fields = expect<Record>(entry, "fields");
    outcome.skipped = expect<std::string>(entry, "skipped");
    outcome.note = expect<std::string>(entry, "note");
  }
  return outcomes;
}

}  // namespace attnscope
