// Table of `spectrum --mla`: energy that MLA with DeepSeek-V2's ranks would keep in each layer, and
// the KV cache before and after.
#include <fmt/format.h>

#include "attnscope/features/all_tables.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/table/alignment.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/skipped_lines.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {
namespace {

constexpr const char* kHalves[] = {"query", "kv"};

/// One half of a layer's row; null if skipped.
const Record* half_of(const Record& row, const char* half) {
  const Value* found = row.find(half);
  return found == nullptr ? nullptr : found->get<Record>();
}

/// The first layer that has this half; its ranks and baselines apply to all layers.
const Record* any_half(const std::vector<const Record*>& rows, const char* half) {
  for (const Record* row : rows) {
    if (const Record* found = half_of(*row, half)) return found;
  }
  return nullptr;
}

std::string energy_text(const Record& half, const char* field) {
  const auto share = number_field(half, field);
  return share ? share_text(*share) : "-";
}

/// The head lines: names, maximum possible ranks, and random baselines.
Lines mla_lines(const std::vector<const Record*>& rows, const Style& style) {
  std::vector<std::string> matrix = {style.bold(heading("mla", "layer"))}, rank = {style.bold("")},
                           of = {style.dim("of")}, null = {style.dim("random")};
  const std::size_t after = display_width(cell_text({}, style)) - 1;
  for (const char* name : kHalves) {
    const Record* half = any_half(rows, name);
    if (half == nullptr) continue;
    const std::string text = heading("mla", name);
    for (const char* field : {"rank", "share_rank"}) {
      matrix.push_back(style.bold(text));
      rank.push_back(style.bold(fmt::format("at {}", integer_field(*half, field))));
      of.emplace_back();
    }
    null.push_back(style.dim(energy_text(*half, "random_energy")));
    null.push_back(style.dim(energy_text(*half, "share_random_energy")));
    for (const auto& [threshold, value] : expect<Record>(*half, "energy_rank").fields()) {
      const RankCell cell = rank_cell(*half, threshold);
      matrix.push_back(style.bold(text));
      rank.push_back(style.bold("for " + threshold));
      of.push_back(style.dim(std::to_string(cell.possible)) + std::string(after, ' '));
      null.push_back(style.dim(cell.null ? std::to_string(*cell.null) : "") +
                     std::string(after, ' '));
    }
  }
  return {matrix, rank, of, null};
}

void write_layers(const std::vector<const Record*>& rows, const WriteOptions& options,
                  std::ostream& out) {
  const Style style(options.color);
  Lines lines = mla_lines(rows, style);
  for (const Record* row : rows) {
    auto& line =
        lines.emplace_back(std::vector<std::string>{std::to_string(integer_field(*row, "layer"))});
    for (const char* name : kHalves) {
      const Record* shape = any_half(rows, name);
      if (shape == nullptr) continue;
      const Record* half = half_of(*row, name);
      for (const char* field : {"energy", "share_energy"}) {
        line.push_back(half == nullptr ? "-" : energy_text(*half, field));
      }
      for (const auto& [threshold, value] : expect<Record>(*shape, "energy_rank").fields()) {
        line.push_back(half == nullptr ? "-" : cell_text(rank_cell(*half, threshold), style));
      }
    }
  }
  std::vector<std::size_t> groups;  // one group per half
  for (const char* name : kHalves) {
    const Record* half = any_half(rows, name);
    if (half != nullptr) groups.push_back(2 + expect<Record>(*half, "energy_rank").fields().size());
  }
  out << fold(lines, static_cast<std::size_t>(options.width), std::move(groups));
}

void write_cache(const Record& model, std::ostream& out) {
  const std::int64_t bytes_now = integer_field(model, "kv_cache_bytes_per_token");
  if (bytes_now == 0) {
    out << "KV cache: none (bidirectional attention)\n";
    return;
  }
  out << fmt::format("KV cache, bytes per token (16-bit): {} now\n", grouped(bytes_now));
  for (const char* field : {"mla_cache", "mla_cache_at_share"}) {
    const Record& cache = expect<Record>(model, field);
    const std::int64_t bytes = integer_field(cache, "bytes_per_token");
    out << fmt::format("  {} ({:.0f}%) with a latent of {} and a rotary key of {}\n",
                       grouped(bytes),
                       100 * static_cast<double>(bytes) / static_cast<double>(bytes_now),
                       integer_field(cache, "latent"), integer_field(cache, "rope"));
  }
}

}  // namespace

void write_mla_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  const Style style(options.color);
  for (const Record& model : report.models) {
    const std::string name = text_field(model, "name");
    const std::vector<const Record*> rows = rows_of_model(report, name);
    if (rows.empty()) continue;
    out << style.bold(name) << "  " << style.dim(model_title(model)) << "\n\n";
    write_layers(rows, options, out);
    out << '\n';
    write_cache(model, out);
    out << '\n';
  }
  write_skipped(report, out);
  write_legend(
      "Share of the energy of W_Q (q) and of stacked W_K, W_V (kv) that a latent keeps. Ranks: "
      "DeepSeek-V2's or the model's own, then DeepSeek-V2's ratio to the hidden size. for: energy "
      "rank. random: Gaussian matrix.",
      options, out);
}

}  // namespace attnscope
