#include "attnscope/output/tables.h"

#include <array>
#include <utility>

namespace attnscope {
namespace {

/// Keeps rows without the arrays that no table shows.
class CollectedTable : public ReportCollector {
 public:
  CollectedTable(WriteTable write, const WriteOptions& options, std::ostream& out)
      : write_(write), options_(options), out_(out) {}

  void add_row(Record row) override {
    constexpr std::array kUnseen = {"singular_values", "cumulative_energy", "null_singular_values"};
    Record kept;
    for (const auto& [name, value] : row.fields()) {
      if (std::find(kUnseen.begin(), kUnseen.end(), name) == kUnseen.end()) kept.add(name, value);
    }
    ReportCollector::add_row(std::move(kept));
  }

  void end() override { write_(report(), options_, out_); }

 private:
  WriteTable write_;
  WriteOptions options_;
  std::ostream& out_;
};

template <WriteTable write>
std::unique_ptr<RowSink> make_collected(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<CollectedTable>(write, options, out);
}

/// The table of a command; where `parameter` is not empty, only of the rows that it asks for.
struct TableOf {
  std::string_view command;
  std::string_view parameter;
  MakeWriter make;
};

/// The first that fits a report is its table.
constexpr std::array kTables = {
    TableOf{"ablate", "induction", make_collected<write_ablate_induction_table>},
    TableOf{"ablate", "prompts", make_collected<write_ablate_prompts_table>},
    TableOf{"ablate", "", make_collected<write_ablate_table>},
    TableOf{"attention", "heatmap", make_attention_map_table},
    TableOf{"attention", "induction", make_collected<write_induction_table>},
    TableOf{"attention", "", make_collected<write_attention_table>},
    TableOf{"circuits", "composition", make_composition_table},
    TableOf{"circuits", "", make_collected<write_circuits_table>},
    TableOf{"diff", "", make_collected<write_diff_table>},
    TableOf{"experts", "source", make_collected<write_routing_table>},
    TableOf{"experts", "", make_collected<write_experts_table>},
    TableOf{"export", "list", make_collected<write_contents_table>},
    TableOf{"info", "", make_collected<write_info_table>},
    TableOf{"lens", "prompts", make_collected<write_lens_prompts_table>},
    TableOf{"lens", "", make_collected<write_lens_table>},
    TableOf{"matrix", "", make_matrix_table},
    TableOf{"predict", "input", make_collected<write_plain_table>},
    TableOf{"plan", "", make_collected<write_plan_table>},
    TableOf{"predict", "attribution", make_collected<write_attribution_table>},
    TableOf{"predict", "", make_collected<write_predict_table>},
    TableOf{"read", "pairs", make_collected<write_plain_table>},
    TableOf{"read", "", make_collected<write_read_table>},
    TableOf{"shrink", "", make_collected<write_shrink_table>},
    TableOf{"similarity", "head_matrix", make_matrix_table},
    TableOf{"similarity", "", make_collected<write_similarity_table>},
    TableOf{"spectrum", "activations", make_collected<write_activation_table>},
    TableOf{"spectrum", "mla", make_collected<write_mla_table>},
    TableOf{"spectrum", "", make_collected<write_spectrum_table>},
    TableOf{"weights", "", make_collected<write_weights_table>},
};

/// Whether a parameter is there and not false.
bool asks_for(const Record& parameters, std::string_view name) {
  const Value* value = parameters.find(name);
  if (value == nullptr) return false;
  const bool* flag = value->get<bool>();
  return flag == nullptr || *flag;
}

/// Passes everything on to the table of the command, which begin() tells.
class TableWriter : public RowSink {
 public:
  TableWriter(const WriteOptions& options, std::ostream& out) : options_(options), out_(out) {}

  void begin(const ReportHead& head) override {
    for (const TableOf& table : kTables) {
      if (table.command != head.command) continue;
      if (!table.parameter.empty() && !asks_for(head.parameters, table.parameter)) continue;
      table_ = table.make(options_, out_);
      break;
    }
    if (!table_) table_ = make_collected<write_plain_table>(options_, out_);
    table_->begin(head);
  }
  void add_row(Record row) override { table_->add_row(std::move(row)); }
  void add_skipped(Skipped skipped) override { table_->add_skipped(std::move(skipped)); }
  void add_note(std::string) override {}
  void end() override { table_->end(); }

 private:
  WriteOptions options_;
  std::ostream& out_;
  std::unique_ptr<RowSink> table_;
};

}  // namespace

std::unique_ptr<RowSink> make_table_writer(const WriteOptions& options, std::ostream& out) {
  return std::make_unique<TableWriter>(options, out);
}

}  // namespace attnscope
