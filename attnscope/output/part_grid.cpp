#include "attnscope/output/part_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attnscope/output/table_parts.h"

namespace attnscope {
namespace {

struct LayerParts {
  const Record *attention = nullptr, *mlp = nullptr;
  std::vector<const Record*> heads;
};

}  // namespace

std::string part_grid(const std::vector<const Record*>& rows, const PartCell& cell,
                      const Style& style, int width) {
  std::map<std::int64_t, LayerParts> layers;
  for (const Record* row : rows) {
    LayerParts& layer = layers[integer_field(*row, "layer")];
    const std::string component = text_field(*row, "component");
    if (component == "mlp") {
      layer.mlp = row;
    } else if (component == "attention") {
      layer.attention = row;
    } else {
      layer.heads.push_back(row);
    }
  }
  std::size_t heads = 0;
  for (const auto& [number, layer] : layers) heads = std::max(heads, layer.heads.size());
  std::vector<std::vector<std::string>> lines(1);
  lines[0] = {style.bold("layer"), style.bold("attention"), style.bold("mlp")};
  for (std::size_t head = 0; head < heads; ++head) {
    lines[0].push_back(style.bold((head == 0 ? "head 0" : std::to_string(head))));
  }
  for (const auto& [number, layer] : layers) {
    auto& line = lines.emplace_back();
    line.push_back(std::to_string(number));
    line.push_back(layer.attention == nullptr ? "" : cell(*layer.attention));
    line.push_back(layer.mlp == nullptr ? "" : cell(*layer.mlp));
    for (const Record* head : layer.heads) line.push_back(cell(*head));
    line.resize(lines[0].size());
  }
  return fold(lines, static_cast<std::size_t>(width));
}

std::string part_title(const Record& row) {
  const std::string component = text_field(row, "component");
  const std::int64_t layer = integer_field(row, "layer");
  if (component != "head") return fmt::format("{} {}", component, layer);
  return fmt::format("L{}H{}", layer, integer_field(row, "head"));
}

}  // namespace attnscope
