#include "attnscope/checkpoint/pytorch/hparams.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "attnscope/checkpoint/pytorch/state_dict.h"
#include "attnscope/core/utf8.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr int kMaxHparamsDepth = 16;
constexpr std::size_t kMaxValues = 100'000, kMaxText = 1000;

/// Counts down `left`, so that values which are part of many others end somewhere.
json as_json(const Pickle& pickle, PickleRef value, int depth, std::size_t& left) {
  const PickleNode& node = pickle.at(value);
  if (depth == kMaxHparamsDepth || left == 0) return nullptr;
  --left;
  switch (node.kind) {
    case PickleKind::boolean: return node.integer != 0;
    case PickleKind::integer: return node.integer;
    case PickleKind::real: return std::isfinite(node.real) ? json(node.real) : json(nullptr);
    case PickleKind::text:
      if (node.text.size() > kMaxText || first_broken_utf8(node.text)) return nullptr;
      return std::string(node.text);
    case PickleKind::tuple:
    case PickleKind::list: {
      json out = json::array();
      for (const PickleRef item : node.items) {
        if (left == 0) break;
        out.push_back(as_json(pickle, item, depth + 1, left));
      }
      return out;
    }
    case PickleKind::dict: {
      json out = json::object();
      for (std::size_t item = 0; item + 1 < node.items.size() && left > 0; item += 2) {
        const json key = as_json(pickle, node.items[item], depth + 1, left);
        if (!key.is_string()) continue;
        out[key.get<std::string>()] = as_json(pickle, node.items[item + 1], depth + 1, left);
      }
      return out;
    }
    default: return nullptr;
  }
}

}  // namespace

std::optional<std::string> config_of_hparams(const Pickle& pickle) {
  const PickleRef hparams = find_item(pickle, pickle.root, "hparams");
  if (hparams == kNoPickleRef || pickle.at(hparams).kind != PickleKind::dict) return std::nullopt;
  std::size_t left = kMaxValues;
  json config = as_json(pickle, hparams, 0, left);
  const auto named = config.find("model_class");
  if (named == config.end() || !named->is_string()) return std::nullopt;
  const auto whole = named->get<std::string>();
  config["architectures"] = json::array({whole.substr(whole.rfind('.') + 1)});
  return config.dump(1);
}

}  // namespace attnscope
