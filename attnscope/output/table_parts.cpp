#include "attnscope/output/table_parts.h"

#include <fmt/format.h>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/output/shared_layers.h"

namespace attnscope {
namespace {

double quotient(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Of what random numbers need; where that is not known, of the possible.
double share_of_null(const RankCell& cell) {
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
                .possible = integer_field(fields, "possible_rank")};
  const Value* nulls = fields.find("null_energy_rank");
  const Record* by_threshold = nulls == nullptr ? nullptr : nulls->get<Record>();
  const Value* null = by_threshold == nullptr ? nullptr : by_threshold->find(threshold);
  if (null != nullptr && null->get<std::int64_t>() != nullptr) {
    cell.null = *null->get<std::int64_t>();
  }
  return cell;
}

std::string rank_text(const RankCell& cell, const Style& style) {
  return style.shade(share_of_null(cell), std::to_string(cell.rank));
}

std::string cell_text(const RankCell& cell, const Style& style, bool with_bar) {
  const double of_null = share_of_null(cell);
  const std::string percent = fmt::format("{:3.0f}%", 100 * quotient(cell.rank, cell.possible));
  std::string bar = with_bar ? style.bar(of_null) : "";
  if (!bar.empty()) bar = " " + bar;
  return std::to_string(cell.rank) + bar + " " + style.shade(of_null, percent);
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
  const auto kv = known("kv_heads"), head_dim = known("head_dim"), width = known("width");
  add(counted(heads, "head") + (kv && *kv != heads ? fmt::format(" ({} key/value)", *kv) : "") +
      (head_dim ? fmt::format(" of {}", *head_dim) : ""));
  if (width) add(fmt::format("width {}", *width));
  if (const std::string dtype = text_field(model, "dtype"); !dtype.empty()) add(dtype);
  return text;
}

}  // namespace attnscope
