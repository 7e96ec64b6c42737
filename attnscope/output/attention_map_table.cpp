// `attention --heatmap` for people: a drawing of the map.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/output/heat_map.h"
#include "attnscope/output/skipped_lines.h"
#include "attnscope/output/table_parts.h"
#include "attnscope/output/tables.h"
#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

class AttentionMapTable : public ReportCollector {
 public:
  AttentionMapTable(const WriteOptions& options, std::ostream& out)
      : options_(options), out_(out) {}

  void add_row(Record row) override {
    const std::vector<double>& weights = expect_vector<double>(row, "weights");
    const auto [found, fresh] = maps_.try_emplace(text_field(row, "model"));
    Drawn& drawn = found->second;
    if (fresh) {
      const std::int64_t keys = std::ssize(weights);
      drawn.map.emplace(keys, options_, column_labels(row, keys));
      const bool of_tokens = integer_field(row, "token", /*fallback=*/-1) >= 0;
      drawn.title = fmt::format("layer {} head {}: {} {}", integer_field(row, "layer"),
                                integer_field(row, "head"), grouped(keys),
                                noun_for(keys, of_tokens ? "token" : "place"));
    }
    drawn.map->add_row(weights, row_label(row));
  }

  void end() override {
    const Style style(options_.color);
    const Value* log = report().parameters.find("log");
    const bool log_scale = log != nullptr && log->get<bool>() != nullptr && *log->get<bool>();
    for (const Record& model : report().models) {
      const auto found = maps_.find(text_field(model, "name"));
      if (found == maps_.end()) continue;
      out_ << style.bold(found->first) << "  " << style.dim(model_title(model)) << '\n'
           << style.bold(found->second.title)
           << style.dim(", rows: where from (query), columns: where to (key)") << "\n\n";
      found->second.map->draw(log_scale, out_);
      out_ << '\n';
      found->second.map->draw_scale(log_scale, out_);
    }
    write_skipped(report(), out_);
  }

 private:
  static std::string row_label(const Record& row) {
    const std::string text = text_field(row, "text");
    if (!text.empty()) return printable(text);
    return std::to_string(integer_field(row, "token", integer_field(row, "query")));
  }

  /// Of cross attention: the tokens of the source, or of sound the places of its frames. Else none.
  std::vector<std::string> column_labels(const Record& row, std::int64_t keys) const {
    const std::string name = text_field(row, "model");
    std::vector<std::string> labels;
    for (const Record& model : report().models) {
      const Value* source =
          text_field(model, "name") == name ? model.find("source_tokens") : nullptr;
      if (source == nullptr) continue;
      for (const Value& token : expect<Value::List>(*source, "source_tokens")) {
        const Record& own = expect<Record>(token, "source_tokens");
        const std::string text = text_field(own, "text");
        labels.push_back(printable(text.empty() ? std::to_string(integer_field(own, "id")) : text));
      }
    }
    if (!labels.empty() || text_field(row, "stack") != "cross") return labels;
    for (std::int64_t key = 0; key < keys; ++key) labels.push_back(std::to_string(key));
    return labels;
  }

  struct Drawn {
    std::optional<HeatMap> map;
    std::string title;
  };

  WriteOptions options_;
  std::ostream& out_;
  std::map<std::string, Drawn> maps_;
};

}  // namespace

std::unique_ptr<RowSink> make_attention_map_table(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<AttentionMapTable>(options, out);
}

}  // namespace attnscope
