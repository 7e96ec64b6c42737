// The table of `attention`: a line per layer with the energy ranks of its heads, then the heads
// with the most extreme values, then the collapsed layers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

struct LayerRows {
  const Record* layer = nullptr;
  std::vector<const Record*> heads;
};
using ModelRows = std::map<std::int64_t, LayerRows>;

ModelRows rows_of(const Report& report, const std::string& model) {
  ModelRows rows;
  for (const Record& row : report.rows) {
    if (text_field(row, "model") != model) continue;
    LayerRows& of_layer = rows[integer_field(row, "layer")];
    const Value* head = row.find("head");
    if (head == nullptr || head->is_null()) {
      of_layer.layer = &row;
    } else {
      of_layer.heads.push_back(&row);
    }
  }
  return rows;
}

std::optional<bool> flag_in(const Record& row, std::string_view name) {
  const Value* value = row.find(name);
  const bool* flag = value == nullptr ? nullptr : value->get<bool>();
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}

bool has_collapsed(const LayerRows& rows) {
  return rows.layer != nullptr && flag_in(*rows.layer, "collapsed").value_or(false);
}

/// How ranks are shown: the widest form in which the heads of a layer fit on one line.
enum class CellForm { tenths, whole, block };

std::string rank_text(double rank, CellForm form) {
  return fmt::format(fmt::runtime(form == CellForm::tenths ? "{:.1f}" : "{:.0f}"), rank);
}

/// The ranks of a model's heads as cells of equal width.
class RankCells {
 public:
  RankCells(const ModelRows& rows, std::size_t room) {
    std::size_t heads = 0;
    for (const auto& [layer, of_layer] : rows) {
      heads = std::max(heads, of_layer.heads.size());
      for (const Record* head : of_layer.heads) {
        largest_ = std::max(largest_, number_field(*head, "energy_rank").value_or(0));
      }
    }
    for (const CellForm form : {CellForm::tenths, CellForm::whole, CellForm::block}) {
      form_ = form;
      width_ = form == CellForm::block ? 1 : rank_text(largest_, form).size() + 1;
      if (heads * width_ <= room) break;
    }
    each_line_ = std::max<std::size_t>(1, room / width_);
  }

  CellForm form() const { return form_; }

  /// The ranks of the heads of a layer, on as many lines as needed.
  std::vector<std::string> lines(const std::vector<const Record*>& heads,
                                 const Style& style) const {
    std::vector<std::string> out(1);
    for (std::size_t at = 0; at < heads.size(); ++at) {
      if (at > 0 && at % each_line_ == 0) out.emplace_back();
      out.back() += cell(number_field(*heads[at], "energy_rank"), style);
    }
    return out;
  }

 private:
  std::string cell(std::optional<double> rank, const Style& style) const {
    if (!rank) return pad_left("-", width_);
    const double share = largest_ == 0 ? 0 : *rank / largest_;
    if (form_ != CellForm::block) {
      const std::string text = rank_text(*rank, form_);
      return std::string(width_ - std::min(width_, text.size()), ' ') + style.shade(share, text);
    }
    return style.color() ? style.bar(share) : std::string(1, density_character(share));
  }

  double largest_ = 0;
  CellForm form_ = CellForm::tenths;
  std::size_t width_ = 1, each_line_ = 1;
};

std::string layers_text(const ModelRows& rows, const Style& style, int width) {
  const bool marks = std::any_of(rows.begin(), rows.end(),
                                 [](const auto& entry) { return has_collapsed(entry.second); });
  const auto head = [&](const char* field) { return style.bold(heading("attention", field)); };
  std::vector<std::vector<std::string>> cells = {
      {head("layer"), head("max_rank"), head("mean_max_rank"), head("mean_energy_columns")}};
  if (marks) cells.front().emplace_back();
  for (const auto& [layer, of_layer] : rows) {
    const Record none;
    const Record& row = of_layer.layer == nullptr ? none : *of_layer.layer;
    cells.push_back({std::to_string(layer), number_text(row, "max_rank", "{:.1f}"),
                     mean_and_error(row, "mean_max_rank", "{:.1f}", "{:.2f}"),
                     mean_and_error(row, "mean_energy_columns", "{:.1f}", "{:.2f}")});
    if (marks) cells.back().push_back(has_collapsed(of_layer) ? style.bold("collapsed") : "");
  }
  const std::vector<std::string> lines = split(align(cells), '\n');
  std::size_t widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, display_width(line));
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kLeast = 20;  // minimum for the heads, even on narrow terminals
  const auto columns = static_cast<std::size_t>(std::max(width, 0));
  const RankCells ranks(rows, std::max(columns, widest + kGap + kLeast) - widest - kGap);
  std::string out = pad_right(lines.front(), widest + kGap) + " " +
                    style.bold(ranks.form() == CellForm::block ? "rank per head, low to high"
                                                               : "mean rank per head") +
                    '\n';
  std::size_t number = 1;
  for (const auto& [layer, of_layer] : rows) {
    std::string before = lines[number++];
    for (const std::string& line : ranks.lines(of_layer.heads, style)) {
      out += pad_right(before, widest + kGap) + line + '\n';
      before.clear();
    }
  }
  return out;
}

/// A measure for which the heads with the largest or smallest values are listed.
struct Trait {
  const char* name;
  const char* field;
  const char* format;
  const char* error_format;
  const char* unit = "";
  bool least = false;     // smallest values first
  bool of_sinks = false;  // hidden if all heads have zero
  bool of_texts = false;  // hidden for images, whose patches are not a sequence
};
constexpr std::array kTraits = {
    Trait{.name = "attention to previous token",
          .field = "previous_token",
          .format = "{:.2f}",
          .error_format = "{:.2f}",
          .of_texts = true},
    Trait{"attention to first token", "sink_mass", "{:.2f}", "{:.2f}"},
    Trait{"attention to learned sink", "learned_sink_mass", "{:.2f}", "{:.2f}", "", /*least=*/false,
          /*of_sinks=*/true},
    Trait{"attention to current token", "current_token", "{:.2f}", "{:.2f}"},
    Trait{.name = "largest distance (tokens)",
          .field = "mean_distance",
          .format = "{:.1f}",
          .error_format = "{:.1f}",
          .of_texts = true},
    Trait{"largest distance (patches)", "patch_distance", "{:.1f}", "{:.1f}"},
    Trait{"smallest distance (patches)", "patch_distance", "{:.1f}", "{:.1f}", "", /*least=*/true},
    Trait{"highest diagonality", "diagonality", "{:.2f}", "{:.2f}"},
    Trait{"highest monotonicity", "monotonicity", "{:.2f}", "{:.2f}"},
    Trait{"highest attention from text A to B", "a_to_b", "{:.2f}", "{:.2f}"},
    Trait{"highest attention from text B to A", "b_to_a", "{:.2f}", "{:.2f}"},
    Trait{"highest attention to system", "system_mass", "{:.2f}", "{:.2f}"},
    Trait{"highest attention to user", "user_mass", "{:.2f}", "{:.2f}"},
    Trait{"highest attention to assistant", "assistant_mass", "{:.2f}", "{:.2f}"},
    Trait{"highest attention to tool", "tool_mass", "{:.2f}", "{:.2f}"},
    Trait{"highest attention to template", "template_mass", "{:.2f}", "{:.2f}"},
    Trait{"highest entropy (nats)", "entropy", "{:.2f}", "{:.2f}"},
    Trait{"lowest entropy (nats)", "entropy", "{:.2f}", "{:.2f}", "", /*least=*/true},
    Trait{"highest rank", "energy_rank", "{:.1f}", "{:.1f}"},
    Trait{"lowest rank", "energy_rank", "{:.1f}", "{:.1f}", "", /*least=*/true},
};

std::string outstanding_text(const ModelRows& rows, const Style& style, int width) {
  const std::size_t shown = width < 90 ? 2 : 3;  // heads per line
  std::vector<const Record*> heads;
  for (const auto& [layer, of_layer] : rows) {
    heads.insert(heads.end(), of_layer.heads.begin(), of_layer.heads.end());
  }
  if (heads.size() <= shown) return "";
  const bool of_images = number_field(*heads.front(), "patch_distance").has_value();
  std::vector<std::vector<std::string>> lines;
  for (const Trait& trait : kTraits) {
    if (of_images && trait.of_texts) continue;
    std::vector<std::pair<double, const Record*>> order;
    for (const Record* head : heads) {
      if (const auto value = number_field(*head, trait.field)) {
        order.emplace_back(trait.least ? *value : -*value, head);
      }
    }
    if (order.empty()) continue;
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (trait.of_sinks && order.front().first == 0) continue;
    auto& line = lines.emplace_back(std::vector<std::string>{trait.name});
    for (std::size_t at = 0; at < std::min(shown, order.size()); ++at) {
      const Record& head = *order[at].second;
      line.push_back(style.dim(head_text(head)) + " " +
                     mean_and_error(head, trait.field, trait.format, trait.error_format));
    }
  }
  return style.bold("heads with the most extreme values") + '\n' + align(lines, /*left_columns=*/4);
}

/// The layers before the first collapsed one, which Inheritune would keep.
std::string collapse_text(const ModelRows& rows, const Record& model) {
  const std::string name = text_field(model, "name") + ": ";
  const bool judged = std::any_of(rows.begin(), rows.end(), [](const auto& entry) {
    return entry.second.layer != nullptr && flag_in(*entry.second.layer, "collapsed").has_value();
  });
  if (!judged) return "";
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [](const auto& entry) { return has_collapsed(entry.second); });
  const auto all = integer_field(model, "layers");
  const bool whole = std::ssize(rows) == all;
  if (first == rows.end()) {
    return name + (whole ? fmt::format("none of the {} layers has collapsed", all)
                         : "none of these layers has collapsed");
  }
  if (!whole) {
    return name + fmt::format("first collapsed layer among these: {}", first->first);
  }
  return name + fmt::format(
                    "{} of {} layers come before the first collapsed layer; Inheritune would keep "
                    "them",
                    first->first, all);
}

/// Ranks and columns cover whole maps; other measures average over the scored queries.
std::string scored_means(const Record& parameters) {
  const std::string words = scored_words(parameters);
  return words.empty() ? "" : " Other means: over the queries that predict " + words + ".";
}

std::string attention_legend(const Report& report) {
  const auto energy = number_field(report.parameters, "energy");
  const auto exclude_first_token =
      flag_in(report.parameters, "exclude_first_token").value_or(false);
  return fmt::format(
             "Rank: singular values needed for {} of the energy of an attention map. Columns: "
             "smallest number of keys that hold the same share. Mean max: mean over {}. ±: "
             "standard error.{}",
             energy ? shortest_decimal(*energy) : "a share", sequences_text(report.parameters),
             exclude_first_token ? " First token excluded." : "") +
         scored_means(report.parameters);
}

}  // namespace

void write_attention_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  std::vector<std::string> last;
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const ModelRows rows = rows_of(report, name);
    if (rows.empty()) continue;
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n"
        << layers_text(rows, style, options.width) << '\n';
    const std::string outstanding = outstanding_text(rows, style, options.width);
    if (!outstanding.empty()) out << outstanding << '\n';
    last.push_back(collapse_text(rows, model));
  }
  write_skipped(report, out);
  write_legend(attention_legend(report), options, out);
  for (const std::string& line : last) {
    if (!line.empty()) out << line << '\n';
  }
}

}  // namespace attnscope
