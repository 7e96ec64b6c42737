#include "attnscope/rows/table/cells.h"

#include <algorithm>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/layer_grid.h"
#include "attnscope/rows/table/models.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

std::string mean_and_error(const Record& row, const std::string& name, const char* format,
                           const char* error_format) {
  const std::string mean = number_text(row, name, format);
  const std::string error = number_text(row, name + "_error", error_format);
  return mean == "-" || error == "-" ? mean : mean + " ±" + error;
}

std::string head_text(const Record& row) {
  return head_name(integer_field(row, "layer"), integer_field(row, "head"));
}

std::string sequences_text(const Record& parameters) {
  const auto count = integer_field(parameters, "sequences");
  const auto length = integer_field(parameters, "length");
  const std::string source = text_field(parameters, "source");
  const std::string noun = noun_for(count, "sequence");
  std::string text = count == 0 ? noun : grouped(count) + " " + noun;
  if (length > 0) text += " of " + grouped(length) + " " + noun_for(length, "token");
  if (const auto target = integer_field(parameters, "target_length"); target > 0) {
    text += " and a target of " + grouped(target);
  }
  return source.empty() ? text : text + " (" + printable(source) + ")";
}

char density_character(double share) {
  constexpr std::string_view kRamp = " .:-=+*#%@";
  const auto last = static_cast<double>(kRamp.size());
  return kRamp[static_cast<std::size_t>(std::clamp(share * last, 0.0, last - 1))];
}

namespace {

bool flag_of(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  const bool* flag = value == nullptr ? nullptr : value->get<bool>();
  return flag != nullptr && *flag;
}

}  // namespace

std::string variant_text(const Record& parameters) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const bool centered = text_field(parameters, "fold_norm") == "centered";
  if (centered || flag_of(parameters, "fold_norm")) add("norm gains folded in");
  if (centered) add("centered");
  if (flag_of(parameters, "with_bias")) add("with biases");
  if (const std::int64_t offset = integer_field(parameters, "rope_offset"); offset != 0) {
    add(fmt::format("qk at rotary offset {}", offset));
  }
  return text.empty() ? "weights as stored: no norms, biases or positions" : text;
}

namespace {

double quotient(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The rank as a share of the random baseline; if that is unknown, of the maximum possible rank.
double share_of_random(const RankCell& cell) {
  return quotient(cell.rank, cell.null.value_or(cell.possible));
}

}  // namespace

RankCell& RankCell::operator+=(const RankCell& other) {
  const bool first = possible == 0;
  rank += other.rank;
  possible += other.possible;
  if (first) {
    null = other.null;
  } else {
    null = null && other.null ? std::optional(*null + *other.null) : std::nullopt;
  }
  return *this;
}

RankCell rank_cell(const Record& fields, const std::string& threshold) {
  const Record& ranks = expect<Record>(fields, "energy_rank");
  RankCell cell{.rank = integer_field(ranks, threshold),
                .possible = integer_field(fields, "max_possible_rank")};
  const Value* nulls = fields.find("random_energy_rank");
  const Record* by_threshold = nulls == nullptr ? nullptr : nulls->get<Record>();
  const Value* null = by_threshold == nullptr ? nullptr : by_threshold->find(threshold);
  if (null != nullptr && null->get<std::int64_t>() != nullptr) {
    cell.null = *null->get<std::int64_t>();
  }
  return cell;
}

std::string rank_text(const RankCell& cell, const Style& style) {
  return style.shade(share_of_random(cell), std::to_string(cell.rank));
}

std::string cell_text(const RankCell& cell, const Style& style, bool with_bar) {
  const double of_random = share_of_random(cell);
  const std::string percent = fmt::format("{:3.0f}%", 100 * quotient(cell.rank, cell.possible));
  std::string bar = with_bar ? style.bar(of_random) : "";
  if (!bar.empty()) bar = " " + bar;
  return std::to_string(cell.rank) + bar + " " + style.shade(of_random, percent);
}

std::string share_text(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::vector<const Record*> rows_of_model(const Report& report, std::string_view name) {
  std::vector<const Record*> rows;
  for (const Record& row : report.rows) {
    if (text_field(row, "model") == name) rows.push_back(&row);
  }
  return rows;
}

std::string model_title(const Record& model) {
  std::string text = text_field(model, "architecture");
  if (text.empty()) return "";
  const auto add = [&](const std::string& part) { text += ", " + part; };
  add(counted(integer_field(model, "layers"), "layer") +
      (shares_weights(model) ? " with shared weights" : ""));
  const auto known = [&](const char* fact) {
    const Value* value = model.find(fact);
    const auto* number = value == nullptr ? nullptr : value->get<std::int64_t>();
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  const std::int64_t heads = integer_field(model, "heads");
  const auto kv = known("kv_heads"), head_dim = known("head_dim"), width = known("hidden_size");
  add(counted(heads, "head") + (kv && *kv != heads ? fmt::format(" ({} key/value)", *kv) : "") +
      (head_dim ? fmt::format(" of {}", *head_dim) : ""));
  if (width) add(fmt::format("hidden size {}", *width));
  if (const std::string dtype = text_field(model, "dtype"); !dtype.empty()) add(dtype);
  return text;
}

std::string token_cell(const Record& token, std::string_view text_field_name,
                       std::string_view id_field) {
  const std::string text = text_field(token, text_field_name);
  if (text.empty()) return fmt::format("<{}>", integer_field(token, id_field));
  std::string out;
  for (const char byte : printable(text)) {
    if (byte == ' ') {
      out += "␣";
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace attnscope
