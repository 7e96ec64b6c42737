#include "attnscope/features/common/options/edits_option.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kEditsLimitBytes = std::uint64_t{1} << 30;
constexpr std::array<std::pair<const char*, EditHow>, 4> kOperations = {
    {{"set", EditHow::set},
     {"add", EditHow::add},
     {"scale", EditHow::scale},
     {"project_out", EditHow::project_out}}};

/// One record of the file, for errors.
struct EditLocation {
  const std::string& file;
  std::size_t index;

  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = "") const {
    throw Error(ErrorKind::format, {.file = file,
                                    .place = "edit " + std::to_string(index),
                                    .problem = verbatim(problem),
                                    .hint = hint});
  }
};

/// A whole number from 0, or a list of them.
std::vector<std::int64_t> indices_in(const json& value, const char* key,
                                     const EditLocation& location) {
  std::vector<std::int64_t> out;
  for (const json& each : value.is_array() ? value : json::array({value})) {
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > std::uint64_t{kMaxSize}) {
      location.refuse("'" + std::string(key) + "' is not a number from 0 or a list of them");
    }
    out.push_back(each.get<std::int64_t>());
  }
  if (out.empty()) location.refuse("'" + std::string(key) + "' is an empty list");
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Appends the numbers of nested lists, whose lengths are `shape` from `depth` on.
void append_numbers(const json& value, std::size_t depth, EditValue& out,
                    const EditLocation& location) {
  if (!value.is_array()) {
    if (!value.is_number() || depth != out.shape.size()) {
      location.refuse("the value is not a number or nested lists of numbers of equal lengths");
    }
    out.numbers.push_back(value.get<float>());
    return;
  }
  if (depth >= out.shape.size() || std::ssize(value) != out.shape[depth]) {
    location.refuse("the value is not a number or nested lists of numbers of equal lengths");
  }
  for (const json& each : value) append_numbers(each, depth + 1, out, location);
}

EditValue value_in(const json& value, const EditLocation& location) {
  EditValue out;
  for (const json* inner = &value; inner->is_array(); inner = &inner->front()) {
    if (inner->empty()) location.refuse("the value is an empty list");
    out.shape.push_back(std::ssize(*inner));
  }
  append_numbers(value, 0, out, location);
  return out;
}

void read_positions(const json& value, ActivationEdit& edit, const EditLocation& location) {
  if (!value.is_string()) {
    for (const json& each : value.is_array() ? value : json::array({value})) {
      if (!each.is_number_integer())
        location.refuse("'positions' has an entry that is not a number");
      const auto position = each.get<std::int64_t>();
      edit.positions.push_back({position, position});
    }
    if (edit.positions.empty()) location.refuse("'positions' is an empty list");
    return;
  }
  const auto text = value.get<std::string>();
  edit.each_new = text == "each-new";
  if (edit.each_new) return;
  const auto ranges = parse_position_ranges(text);
  if (!ranges || ranges->empty()) {
    location.refuse("'positions' is not a list of positions: '" + text + "'",
                    "for example: last, each-new, 10-, 3,7 or 5-9");
  }
  edit.positions = *ranges;
}

ActivationEdit parse_edit(const json& record, const EditLocation& location) {
  if (!record.is_object()) location.refuse("is not an object");
  ActivationEdit edit;
  bool has_value = false;
  std::string name;
  for (const auto& [key, value] : record.items()) {
    const auto operation =
        std::find_if(kOperations.begin(), kOperations.end(),
                     [&name = key](const auto& each) { return name == each.first; });
    if (operation != kOperations.end()) {
      if (has_value) location.refuse("has more than one of set, add, scale and project_out");
      has_value = true;
      edit.how = operation->second;
      edit.value = value_in(value, location);
    } else if (key == "name") {
      if (!value.is_string()) location.refuse("'name' is not a text");
      name = value.get<std::string>();
    } else if (key == "layer") {
      edit.layers = indices_in(value, "layer", location);
    } else if (key == "head") {
      edit.heads = indices_in(value, "head", location);
      edit.one_head = !value.is_array();
    } else if (key == "positions") {
      read_positions(value, edit, location);
    } else if (key == "tokens") {
      edit.tokens = indices_in(value, "tokens", location).front();
    } else {
      location.refuse("unknown key '" + key + "'",
                      "known keys: name, layer, head, positions, tokens, set, add, scale, "
                      "project_out");
    }
  }
  const auto point = hook_from_name(name);
  if (!point)
    location.refuse(name.empty() ? "missing 'name'" : "unknown activation '" + name + "'");
  if (!has_value) location.refuse("has none of set, add, scale and project_out");
  edit.point = *point;
  edit.where = "edit " + std::to_string(location.index) + " ('" + name + "')";
  return edit;
}

std::vector<ActivationEdit> read_edits(const Arguments& arguments, const Session& session) {
  const std::string file = arguments.text("edits");
  session.files->add_input("edits", file);
  const json list = parse_python_json(session.files->read_text(file, kEditsLimitBytes), file);
  if (!list.is_array() || list.empty()) {
    throw Error(
        ErrorKind::format,
        {.file = file,
         .problem = "is not a list of edits",
         .hint = verbatim(R"(for example [{"name": "z", "layer": 3, "head": 2, "scale": 0}])")});
  }
  std::vector<ActivationEdit> edits;
  for (std::size_t index = 0; index < list.size(); ++index) {
    edits.push_back(parse_edit(list[index], {.file = file, .index = index}));
  }
  return edits;
}

}  // namespace

Parameter edits_parameter() {
  return {.name = "edits",
          .type = ParameterType::file,
          .group = OptionGroup::input,
          .help = "edit activations while the model runs, as listed in this JSON file",
          .metavariable = "FILE"};
}

/// Carries the edits in a context.
class EditingContext::Watcher : public PassWatcher {
 public:
  explicit Watcher(std::vector<ActivationEdit> edits) : edits_(std::move(edits)) {}
  const std::vector<ActivationEdit>& edits() const { return edits_; }

 private:
  std::vector<ActivationEdit> edits_;
};

EditingContext::EditingContext(const Arguments& arguments, const Session& session,
                               const Context& context)
    : context_(context) {
  if (!arguments.given("edits")) return;
  watcher_ = std::make_shared<Watcher>(read_edits(arguments, session));
  context_.watchers.push_back(watcher_.get());
}

const std::vector<ActivationEdit>& EditingContext::edits_in(
    std::span<BatchWatcher* const> watchers) {
  static const std::vector<ActivationEdit> none;
  for (BatchWatcher* watcher : watchers) {
    if (const auto* own = dynamic_cast<const Watcher*>(watcher)) return own->edits();
  }
  return none;
}

RunEdits::RunEdits(const ForwardPass& pass, std::span<BatchWatcher* const> watchers,
                   ForwardHooks* next, std::optional<std::int64_t> prompt)
    : next_(next) {
  const std::vector<ActivationEdit>& edits = EditingContext::edits_in(watchers);
  if (edits.empty()) return;
  check_edits(pass, edits);
  hooks_.emplace(pass, edits, next, prompt);
}

}  // namespace attnscope
