// Table of `info`: metadata of all models side by side. For a single model also every tensor, with
// layers grouped.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "attnscope/base/text.h"
#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

/// The metadata compared across many models, one column each.
constexpr const char* kCompared[] = {"architecture",
                                     "layers",
                                     "hidden_size",
                                     "heads",
                                     "kv_heads",
                                     "head_dim",
                                     "attention_parameters",
                                     "parameters",
                                     "kv_cache_bytes_per_token"};

std::string fact_text(const Value& value) {
  if (const auto* text = value.get<std::string>()) return *text;
  if (const auto* flag = value.get<bool>()) return *flag ? "yes" : "no";
  if (const auto* number = value.get<std::int64_t>()) {
    return *number < 10'000 ? std::to_string(*number)
                            : grouped(*number) + " (" + scaled(static_cast<double>(*number)) + ")";
  }
  if (const auto* numbers = value.get<Array>()) {
    const auto* whole = std::get_if<std::vector<std::int64_t>>(&numbers->data);
    if (whole != nullptr) return runs_text(*whole);
  }
  return "-";
}

std::string short_text(const Value& value) {
  const auto* number = value.get<std::int64_t>();
  if (number == nullptr || *number < 10'000) return fact_text(value);
  return scaled(static_cast<double>(*number));
}

/// One column per model, with exact numbers.
std::string facts_by_column(const std::vector<Record>& models, const Style& style) {
  std::vector<std::vector<std::string>> lines(1, {""});
  for (const Record& model : models) lines[0].push_back(style.bold(text_field(model, "name")));
  for (const Field& fact : model_facts()) {
    if (fact.heading.empty()) continue;
    const auto value_of = [&](const Record& model) {
      const Value* value = model.find(fact.name);
      return value == nullptr ? Value() : *value;
    };
    const auto has_it = [&](const Record& model) { return model.find(fact.name) != nullptr; };
    if (std::none_of(models.begin(), models.end(), has_it)) continue;
    // This number is part of the number above it.
    const char* indent = fact.name == "attention_parameters" ? "  " : "";
    auto& line = lines.emplace_back(std::vector<std::string>{indent + std::string(fact.heading)});
    for (const Record& model : models) line.push_back(fact_text(value_of(model)));
  }
  return align(lines);
}

/// One row per model, with the most compared metadata.
std::string facts_by_row(const std::vector<Record>& models, const Style& style) {
  std::vector<std::vector<std::string>> lines(1, {""});
  for (const char* fact : kCompared) {
    lines[0].push_back(style.bold(model_fact(fact).short_heading));
  }
  for (const Record& model : models) {
    auto& line = lines.emplace_back(std::vector<std::string>{text_field(model, "name")});
    for (const char* fact : kCompared) line.push_back(short_text(*model.find(fact)));
  }
  return align(lines, /*left_columns=*/2);
}

/// `h.{0-5}.ln_1.weight`: one line for the same tensor of a range of layers.
struct TensorLine {
  std::string name;  // with `{}` for the layer
  std::string dtype, shape, role, tied_to;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t first_layer = 0, last_layer = 0;
};

std::string shape_of(const Record& row) {
  return shape_text(expect_vector<std::int64_t>(row, "shape"));
}

/// The first whole name between dots that is a number below 10,000; -1: none.
std::int64_t first_number(std::string_view name) {
  for (const std::string& part : split(name, '.')) {
    const bool digits = !part.empty() && part.size() < 5 &&
                        part.find_first_not_of("0123456789") == std::string::npos;
    if (digits) return std::stoll(part);
  }
  return -1;
}

/// Tensors without a known layer are grouped by the first number in their names.
std::vector<TensorLine> group_by_layer(const std::vector<Record>& rows, const std::string& model) {
  std::vector<TensorLine> lines;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
  for (const Record& row : rows) {
    if (text_field(row, "model") != model) continue;
    TensorLine line{.name = printable(text_field(row, "name")),
                    .dtype = text_field(row, "dtype"),
                    .shape = shape_of(row),
                    .role = text_field(row, "role"),
                    .tied_to = printable(text_field(row, "tied_to")),
                    .bytes = integer_field(row, "bytes"),
                    .count = 1};
    constexpr std::int64_t kNone = -1;
    // The tensors of all experts of a layer are also grouped into one line.
    const std::string expert = fmt::format(".{}.", integer_field(row, "expert", kNone));
    const std::size_t of_expert = line.name.rfind(expert);
    if (of_expert != std::string::npos) line.name.replace(of_expert, expert.size(), ".*.");
    const std::int64_t known_layer = integer_field(row, "layer", kNone);
    const std::int64_t layer = known_layer == kNone ? first_number(line.name) : known_layer;
    const std::string number = fmt::format(".{}.", layer);
    const std::size_t at = line.name.find(number);
    if (layer == kNone || at == std::string::npos) {
      lines.push_back(std::move(line));
      continue;
    }
    line.name.replace(at, number.size(), ".{}.");
    line.first_layer = line.last_layer = layer;
    const auto [found, fresh] =
        known.emplace(std::tuple(line.name, line.dtype, line.shape, line.role), lines.size());
    if (fresh) {
      lines.push_back(std::move(line));
      continue;
    }
    TensorLine& group = lines[found->second];
    group.bytes += line.bytes;
    ++group.count;
    group.first_layer = std::min(group.first_layer, layer);
    group.last_layer = std::max(group.last_layer, layer);
  }
  for (TensorLine& line : lines) {
    const std::size_t at = line.name.find("{}");
    if (at == std::string::npos) continue;
    const std::string range = line.first_layer == line.last_layer
                                  ? std::to_string(line.first_layer)
                                  : fmt::format("{}-{}", line.first_layer, line.last_layer);
    line.name.replace(at, 2, "{" + range + "}");
  }
  return lines;
}

/// The tensors of a model, within `width` columns if possible. A name that is too long gets its own
/// line above its numbers.
std::string tensor_table(const std::vector<TensorLine>& tensors, std::size_t width,
                         const Style& style) {
  std::vector<std::string> names = {style.dim(heading("info", "name"))};
  std::vector<std::vector<std::string>> lines(1);
  for (const char* field : {"role", "dtype", "shape"}) {
    lines[0].push_back(style.dim(heading("info", field)));
  }
  lines[0].push_back(style.dim("tensors"));
  lines[0].push_back(style.dim(heading("info", "bytes")));
  for (const TensorLine& line : tensors) {
    names.push_back(line.name + (line.tied_to.empty() ? "" : " = " + line.tied_to));
    lines.push_back(
        {line.role, line.dtype, line.shape, std::to_string(line.count), grouped(line.bytes)});
  }
  constexpr std::size_t kGap = 2, kLeftColumns = 3;
  const std::size_t taken = width_of(align(lines, kLeftColumns)) + kGap;
  const std::size_t room = width > taken ? width - taken : 0;
  std::string out;
  std::vector<bool> long_name;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    long_name.push_back(display_width(names[line]) > room);
    lines[line].insert(lines[line].begin(), long_name.back() ? "" : names[line]);
  }
  const std::vector<std::string> aligned = split(align(lines, kLeftColumns + 1), '\n');
  for (std::size_t line = 0; line < lines.size(); ++line) {
    if (long_name[line]) out += names[line] + "\n";
    out += aligned[line] + "\n";
  }
  return out;
}

void write_system(const Report& report, const Style& style, std::ostream& out) {
  for (const Record& row : report.rows) {
    out << style.bold(pad_right(text_field(row, "item"), 10)) << ' '
        << printable(text_field(row, "value")) << '\n';
  }
}

}  // namespace

void write_info_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  if (report.parameters.find("system") != nullptr) return write_system(report, style, out);
  const std::string by_column = facts_by_column(report.models, style);
  const std::vector<std::string> fact_lines = split(by_column, '\n');
  const bool fits = std::all_of(fact_lines.begin(), fact_lines.end(), [&](const std::string& line) {
    return display_width(line) <= static_cast<std::size_t>(options.width);
  });
  const bool by_row = report.models.size() > 1 && !fits;
  out << (by_row ? facts_by_row(report.models, style) : by_column);
  if (report.models.size() > 1) {
    out << '\n';
    write_legend(
        spell_parameters(
            "To see tensors, pass a single model. {format} csv lists the tensors of all models.",
            options.spell),
        options, out);
    return;
  }

  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    out << '\n' << style.bold("tensors of " + name) << '\n';
    out << tensor_table(group_by_layer(report.rows, name), static_cast<std::size_t>(options.width),
                        style);
  }
  out << '\n';
  write_legend(spell_parameters("Shapes are as stored. Tied and shared tensors are counted once; "
                                "buffers are not counted. {format} csv lists every tensor.",
                                options.spell),
               options, out);
}

}  // namespace attnscope
