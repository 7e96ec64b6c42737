#include "attnscope/checkpoint/pytorch/state_dict.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/pickled_tensor.h"

namespace attnscope {
namespace {

constexpr std::array<std::string_view, 4> kWrappers = {"model", "state_dict", "module",
                                                       "model_state_dict"};
/// Prefixes of keys under which training programs store other data than the model.
constexpr std::array<std::string_view, 4> kBeside = {"optim", "lr_sched", "sched", "rng"};
constexpr std::string_view kCompiled = "_orig_mod.", kParallel = "module.";
constexpr std::size_t kMaxStateDepth = 32;
constexpr std::size_t kMaxVisits = 4'000'000;  // a value that is part of several others counts each
                                               // time
constexpr std::size_t kCharactersOfAVisit = 64, kMaxKey = 1000;

bool is_beside(std::string_view key) {
  return std::any_of(kBeside.begin(), kBeside.end(),
                     [&](std::string_view start) { return key.starts_with(start); });
}

/// Collects tensors from dicts in dicts, lists and pickled modules.
class Collector {
 public:
  Collector(const Pickle& pickle, const FileLocation& where) : pickle_(pickle), where_(where) {}

  std::vector<PickledName> collect(PickleRef value) {
    names_.clear();
    visit("", value);
    return std::move(names_);
  }

 private:
  void spend(std::size_t visits) {
    visits_ += visits;
    if (visits_ > kMaxVisits) refuse(where_, "contains more than 4000000 nested values");
  }

  void visit(const std::string& name, PickleRef value) {
    spend(1 + name.size() / kCharactersOfAVisit);
    if (is_tensor(pickle_, value)) {
      if (first_broken_utf8(name)) refuse(where_, "a tensor's name is not UTF-8");
      names_.push_back({name, value});
      return;
    }
    // A list may contain itself.
    const bool is_open = std::find(path_.begin(), path_.end(), value) != path_.end();
    if (is_open || path_.size() == kMaxStateDepth) return;
    path_.push_back(value);
    visit_parts(name, value);
    path_.pop_back();
  }

  void visit_parts(const std::string& name, PickleRef value) {
    const std::string start = name.empty() ? "" : name + ".";
    if (visit_module(start, value)) return;
    const PickleNode& node = pickle_.at(value);
    if (node.kind == PickleKind::list || node.kind == PickleKind::tuple) {
      for (std::size_t index = 0; index < node.items.size(); ++index) {
        visit(start + std::to_string(index), node.items[index]);
      }
    }
    visit_items(start, value, /*all=*/false);
  }

  /// `all`: regardless of the keys.
  void visit_items(const std::string& start, PickleRef mapping, bool all) {
    const std::vector<PickleRef> items = items_of(pickle_, mapping);
    spend(items.size());
    for (std::size_t item = 0; item + 1 < items.size(); item += 2) {
      const PickleNode& key = pickle_.at(items[item]);
      const bool number = key.kind == PickleKind::integer;
      if (!number && key.kind != PickleKind::text) continue;
      if (key.text.size() > kMaxKey) refuse(where_, "has a key longer than 1000 characters");
      const std::string text = number ? std::to_string(key.integer) : std::string(key.text);
      const PickleRef value = items[item + 1];
      if (all || !is_beside(text) || is_tensor(pickle_, value)) visit(start + text, value);
    }
  }

  /// A torch.nn.Module stores its components in three dicts of its state.
  bool visit_module(const std::string& start, PickleRef value) {
    const PickleRef state = pickle_.at(value).state;
    if (pickle_.at(value).kind != PickleKind::object || state == kNoPickleRef) return false;
    spend(pickle_.at(state).items.size());
    if (find_item(pickle_, state, "_modules") == kNoPickleRef) return false;
    for (const std::string_view part : {"_parameters", "_buffers", "_modules"}) {
      const PickleRef items = find_item(pickle_, state, part);
      if (items != kNoPickleRef) visit_items(start, items, /*all=*/true);
    }
    return true;
  }

  const Pickle& pickle_;
  const FileLocation& where_;
  std::vector<PickledName> names_;
  std::vector<PickleRef> path_;  // the values that are currently visited, outermost first
  std::size_t visits_ = 0;
};

/// Removes every `_orig_mod.` at the start of a name or after a dot, which torch.compile inserts.
std::string without_compiled(std::string name) {
  for (std::size_t at = 0; (at = name.find(kCompiled, at)) != std::string::npos;) {
    if (at == 0 || name[at - 1] == '.') {
      name.erase(at, kCompiled.size());
    } else {
      ++at;
    }
  }
  return name;
}

/// Returns the names that the model itself would use.
void strip_prefixes(std::vector<PickledName>& names) {
  for (PickledName& named : names) named.name = without_compiled(std::move(named.name));
  const auto is_parallel = [](const PickledName& named) {
    return named.name.size() > kParallel.size() && named.name.starts_with(kParallel);
  };
  while (std::all_of(names.begin(), names.end(), is_parallel)) {
    for (PickledName& named : names) named.name.erase(0, kParallel.size());
  }
}

}  // namespace

std::vector<PickleRef> items_of(const Pickle& pickle, PickleRef mapping) {
  const PickleNode& node = pickle.at(mapping);
  if (node.kind != PickleKind::dict && node.kind != PickleKind::object) return {};
  if (!node.items.empty() || node.kind == PickleKind::dict) return node.items;
  // In Python 2, an OrderedDict gets its items as an argument: [[key, value], …].
  if (pickle.at(node.callee).text != "collections.OrderedDict") return {};
  std::vector<PickleRef> items;
  const PickleNode& arguments = pickle.at(node.arguments);
  if (arguments.items.size() != 1) return {};
  for (const PickleRef pair : pickle.at(arguments.items.front()).items) {
    const PickleNode& both = pickle.at(pair);
    if (both.items.size() == 2) items.insert(items.end(), both.items.begin(), both.items.end());
  }
  return items;
}

PickleRef find_item(const Pickle& pickle, PickleRef mapping, std::string_view key) {
  const std::vector<PickleRef> items = items_of(pickle, mapping);
  for (std::size_t item = 0; item + 1 < items.size(); item += 2) {
    const PickleNode& found = pickle.at(items[item]);
    if (found.kind == PickleKind::text && found.text == key) return items[item + 1];
  }
  return kNoPickleRef;
}

std::vector<PickledName> find_state_dict(const Pickle& pickle, const FileLocation& where) {
  Collector collector(pickle, where);
  std::vector<PickledName> names = collector.collect(pickle.root);
  PickleRef level = pickle.root;
  for (std::size_t depth = 0; depth < kMaxStateDepth; ++depth) {
    PickleRef inner = kNoPickleRef;
    for (const std::string_view key : kWrappers) {
      const PickleRef found = find_item(pickle, level, key);
      if (found == kNoPickleRef || is_tensor(pickle, found)) continue;
      std::vector<PickledName> inside = collector.collect(found);
      if (inside.empty()) continue;
      names = std::move(inside);
      inner = found;
      break;
    }
    if (inner == kNoPickleRef) break;
    level = inner;
  }
  if (names.empty()) refuse(where, "the file contains no tensors of a model");
  if (names.size() == 1 && names.front().name.empty()) {
    refuse(where, "the file contains a single tensor without a name, and no model");
  }
  strip_prefixes(names);
  std::set<std::string_view> seen;
  for (const PickledName& named : names) {
    if (!seen.insert(named.name).second) {
      refuse(where, "two tensors have the name '" + verbatim(named.name) + "'");
    }
  }
  return names;
}

}  // namespace attnscope
