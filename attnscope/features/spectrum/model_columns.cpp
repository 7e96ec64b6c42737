#include "attnscope/features/spectrum/model_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnscope/base/role.h"
#include "attnscope/base/text.h"
#include "attnscope/rows/table/cells.h"

namespace attnscope {
namespace {

std::vector<ModelTable> tables_of(const Report& report) {
  std::vector<ModelTable> tables;
  for (const Record& model : report.models) {
    tables.push_back(
        {.facts = model, .name = text_field(model, "name"), .title = model_title(model)});
  }
  // Model metadata may come from a store and need not match the rows.
  const auto table_of = [&](const std::string& model) -> ModelTable& {
    const auto found = std::find_if(tables.begin(), tables.end(),
                                    [&](const ModelTable& table) { return table.name == model; });
    return found != tables.end() ? *found : tables.emplace_back(ModelTable{.name = model});
  };
  for (const Record& row : report.rows) {
    if (row.find("expert") != nullptr) continue;  // a summary row stands for all experts
    table_of(text_field(row, "model"))
        .add({integer_field(row, "layer"), integer_field(row, "head", kWhole)},
             text_field(row, "matrix"), &row);
  }
  for (const Skipped& skipped : report.skipped) {
    table_of(skipped.model)
        .add({skipped.layer.value_or(0), skipped.head.value_or(kWhole)}, skipped.matrix, nullptr);
  }
  std::erase_if(tables, [](const ModelTable& table) { return table.matrices.empty(); });
  return tables;
}

/// "pythia" for "pythia@step1", "pythia@step2", …: the common model if all are its revisions, else
/// empty.
std::string common_model(const std::vector<ModelTable>& tables) {
  const std::string& first = tables.front().name;
  const std::string model = first.substr(0, std::min(first.find('@'), first.size()));
  const bool all = std::all_of(tables.begin(), tables.end(), [&](const ModelTable& table) {
    return table.title == tables.front().title && table.name.starts_with(model + "@");
  });
  return all ? model : "";
}

/// Labels of columns of several models: their names if short, else letters. Revisions of one model
/// are labeled by the part after its name.
bool label_models(std::vector<ModelTable>& tables, const std::string& model) {
  constexpr std::size_t kLongest = 12, kLetters = 26;
  if (!model.empty()) {
    for (ModelTable& table : tables) table.label = table.name.substr(model.size() + 1);
    return true;
  }
  const bool short_names = std::all_of(tables.begin(), tables.end(), [](const ModelTable& table) {
    return display_width(table.name) <= kLongest;
  });
  if (!short_names && tables.size() > kLetters) return false;
  for (std::size_t index = 0; index < tables.size(); ++index) {
    tables[index].label =
        short_names ? tables[index].name : std::string(1, static_cast<char>('A' + index));
  }
  return true;
}

/// The matrices in the requested order, or in the default order.
std::vector<std::string> matrix_order(const Report& report) {
  const Value* asked = report.parameters.find("matrix");
  const auto* names = asked == nullptr ? nullptr : asked->get<Value::List>();
  if (names == nullptr) return role_names();
  std::vector<std::string> order;
  for (const Value& name : *names) order.push_back(expect<std::string>(name, "matrix"));
  return order;
}

/// For each matrix, the columns of every model that has it, one per key.
std::vector<Columns> column_groups(const std::vector<const ModelTable*>& tables,
                                   const std::vector<std::string>& matrices,
                                   const std::vector<std::string>& keys) {
  std::vector<Columns> groups;
  for (const std::string& matrix : matrices) {
    Columns group;
    for (const ModelTable* table : tables) {
      if (!table->matrices.contains(matrix)) continue;
      for (const std::string& key : keys) group.push_back({table, matrix, key});
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

/// The common text of all whole matrices (or heads) of a column; empty if they differ.
std::string common_text(const Column& column, bool of_heads,
                        const std::function<std::string(const Record&)>& text_of) {
  std::set<std::string> texts;
  for (const auto& [place, rows] : column.model->rows) {
    if ((place.second != kWhole) != of_heads) continue;
    const auto found = rows.find(column.matrix);
    if (found != rows.end() && found->second != nullptr) texts.insert(text_of(*found->second));
  }
  return texts.size() == 1 ? *texts.begin() : "";
}

std::set<LayerHead> places_in(const Columns& columns) {
  std::set<LayerHead> places;
  for (const Column& column : columns) {
    for (const auto& [place, rows] : column.model->rows) {
      if (rows.contains(column.matrix)) places.insert(place);
    }
  }
  return places;
}

bool any_wider(const std::vector<Columns>& groups,
               const std::function<std::string(const Columns&)>& draw, std::size_t width) {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const Columns& group) { return width_of(draw(group)) > width; });
}

/// Splits groups that are wider than `width`.
std::vector<Columns> narrower_groups(const std::vector<Columns>& groups,
                                     const std::function<std::string(const Columns&)>& draw,
                                     std::size_t width) {
  std::vector<Columns> narrower;
  for (const Columns& group : groups) {
    Columns current;
    for (const Column& column : group) {
      Columns wider = current;
      wider.push_back(column);
      if (!current.empty() && width_of(draw(wider)) > width) {
        narrower.push_back(std::move(current));
        wider = {column};
      }
      current = std::move(wider);
    }
    if (!current.empty()) narrower.push_back(std::move(current));
  }
  return narrower;
}

/// Packs all groups into one table, or, if that is wider than `width`, into several with whole
/// groups.
std::vector<Columns> packed(const std::vector<Columns>& groups,
                            const std::function<std::string(const Columns&)>& draw,
                            std::size_t width) {
  std::vector<Columns> tables;
  for (const Columns& group : groups) {
    if (!tables.empty()) {
      Columns wider = tables.back();
      wider.insert(wider.end(), group.begin(), group.end());
      if (width_of(draw(wider)) <= width) {
        tables.back() = std::move(wider);
        continue;
      }
    }
    tables.push_back(group);
  }
  return tables;
}

bool is_of_attention(const Columns& group) {
  const auto role = role_from_name(group.front().matrix);
  return role && is_attention(*role);
}

/// Packs everything into one table, or, if that is wider than `width`, attention first, then the
/// MLP.
std::vector<std::string> tables_within(const std::vector<Columns>& groups,
                                       const std::function<std::string(const Columns&)>& draw,
                                       std::size_t width) {
  std::vector<Columns> tables = packed(groups, draw, width);
  if (tables.size() > 1) {
    tables.clear();
    for (auto at = groups.begin(); at != groups.end();) {
      const auto end = std::find_if(at, groups.end(), [&](const Columns& group) {
        return is_of_attention(group) != is_of_attention(*at);
      });
      for (Columns& table : packed({at, end}, draw, width)) tables.push_back(std::move(table));
      at = end;
    }
  }
  std::vector<std::string> drawn;
  for (const Columns& table : tables) drawn.push_back(draw(table));
  return drawn;
}

void write_legend(const std::vector<ModelTable>& tables, const Style& style, std::ostream& out) {
  Lines lines;
  for (const ModelTable& table : tables) {
    auto& line = lines.emplace_back();
    if (table.label != table.name) line.push_back(style.bold(table.label));
    line.push_back(style.bold(table.name));
    line.push_back(style.dim(table.title));
  }
  out << align(lines, /*left_columns=*/3);
}

}  // namespace

Lines candidate_lines(const Columns& columns, const std::string& key_label,
                      const SpacesAfter& after, const Style& style) {
  Lines lines;
  const auto add = [&](const std::string& label, auto text_of) {
    auto& line = lines.emplace_back(std::vector<std::string>{style.bold(label)});
    for (const Column& column : columns) add_cell(line, columns, column, text_of(column));
  };
  add("layer", [&](const Column& column) { return style.bold(column.matrix); });
  if (!columns.front().model->label.empty()) {
    add("", [&](const Column& column) { return style.bold(column.model->label); });
  }
  if (!columns.front().key.empty()) {
    add(key_label, [&](const Column& column) {
      return style.bold(column.key) + std::string(after(column), ' ');
    });
  }
  return lines;
}

void add_cell(std::vector<std::string>& line, const Columns& columns, const Column& column,
              std::string text) {
  const auto at = static_cast<std::size_t>(&column - columns.data());
  const bool grouped = !column.model->label.empty() || !column.key.empty();
  if (grouped && at > 0 && columns[at - 1].matrix != column.matrix) line.emplace_back();
  line.push_back(std::move(text));
}

void add_head_line(Lines& lines, const std::string& label, const Columns& columns, bool of_heads,
                   const SpacesAfter& after, const Style& style,
                   const std::function<std::string(const Column&, const Record&)>& text_of) {
  std::vector<std::string> line = {style.dim(label)};
  bool has_cells = false;
  for (const Column& column : columns) {
    const std::string text =
        common_text(column, of_heads, [&](const Record& row) { return text_of(column, row); });
    has_cells |= !text.empty();
    add_cell(line, columns, column,
             style.dim(text) + std::string(text.empty() ? 0 : after(column), ' '));
  }
  if (has_cells) lines.push_back(std::move(line));
}

void add_place_lines(
    Lines& lines, const Columns& columns, const Style& style,
    const std::function<std::string(const Column&, const LayerHead&, const Record*)>& cell_of) {
  for (const LayerHead& place : places_in(columns)) {
    auto& line = lines.emplace_back(std::vector<std::string>{
        place.second == kWhole ? std::to_string(place.first)
                               : style.dim(fmt::format("  head {}", place.second))});
    for (const Column& column : columns) {
      const auto rows = column.model->rows.find(place);
      const bool there = rows != column.model->rows.end() && rows->second.contains(column.matrix);
      add_cell(line, columns, column,
               there ? cell_of(column, place, rows->second.at(column.matrix)) : "");
    }
  }
}

bool has_heads(const Columns& columns) {
  const std::set<LayerHead> places = places_in(columns);
  return std::any_of(places.begin(), places.end(),
                     [](const LayerHead& place) { return place.second != kWhole; });
}

bool is_last_key(const Columns& columns, const Column& column) {
  const auto next = static_cast<std::size_t>(&column - columns.data()) + 1;
  return next == columns.size() || columns[next].model != column.model ||
         columns[next].matrix != column.matrix;
}

void write_models(const Report& report, const WriteOptions& options,
                  std::span<const TableKind> kinds, std::ostream& out) {
  const Style style(options.color);
  const auto width = static_cast<std::size_t>(options.width);
  const std::vector<std::string> order = matrix_order(report);
  std::vector<ModelTable> tables = tables_of(report);
  const std::string model = tables.size() > 1 ? common_model(tables) : "";
  const auto blocks_of = [&](const std::vector<const ModelTable*>& models) {
    std::vector<std::string> blocks;
    const auto add = [&](const TableKind& kind, std::vector<Columns> groups) {
      if (models.size() == 1 || !model.empty()) {
        groups = narrower_groups(groups, kind.draw, width);
      }
      for (std::string& block : tables_within(groups, kind.draw, width)) {
        blocks.push_back(std::move(block));
      }
    };
    for (const TableKind& kind : kinds) {
      auto groups = column_groups(models, order, kind.keys);
      if (models.size() == 1 || !any_wider(groups, kind.draw, width)) {
        add(kind, std::move(groups));
        continue;
      }
      for (const std::string& key : kind.keys) add(kind, column_groups(models, order, {key}));
    }
    return blocks;
  };
  const auto write_blocks = [&](const std::vector<std::string>& blocks) {
    for (const std::string& block : blocks) out << '\n' << block;
    out << '\n';
  };
  if (tables.size() > 1 && label_models(tables, model)) {
    std::vector<const ModelTable*> all;
    for (const ModelTable& table : tables) all.push_back(&table);
    const auto blocks = blocks_of(all);
    const bool fit = std::all_of(blocks.begin(), blocks.end(), [&](const std::string& block) {
      return width_of(block) <= width;
    });
    if (!model.empty()) {
      out << style.bold(model) << "  " << style.dim(tables.front().title) << '\n';
      return write_blocks(blocks);
    }
    if (fit) {
      write_legend(tables, style, out);
      return write_blocks(blocks);
    }
  }
  for (ModelTable& table : tables) {
    table.label.clear();
    out << style.bold(table.name) << "  " << style.dim(table.title) << '\n';
    write_blocks(blocks_of({&table}));
  }
}

}  // namespace attnscope
