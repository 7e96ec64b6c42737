#include "attnscope/features/common/options/edit_records.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/edit_arrays.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/model/model_spec.h"

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

/// A whole number from 0, or a list of them, in the order given.
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
  return out;
}

void sort_unique(std::vector<std::int64_t>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

/// Positions, of which negative ones count from the end.
std::vector<std::int64_t> positions_in(const json& value, const char* key,
                                       const EditLocation& location) {
  std::vector<std::int64_t> out;
  for (const json& each : value.is_array() ? value : json::array({value})) {
    const bool is_position = each.is_number_integer() &&
                             each.get<double>() >= -static_cast<double>(kMaxSize) &&
                             each.get<double>() <= static_cast<double>(kMaxSize);
    if (!is_position) {
      location.refuse("'" + std::string(key) + "' has an entry that is not a position");
    }
    out.push_back(each.get<std::int64_t>());
  }
  if (out.empty()) location.refuse("'" + std::string(key) + "' is an empty list");
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
    for (const std::int64_t position : positions_in(value, "positions", location)) {
      edit.positions.push_back({position, position});
    }
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

/// The run that `from_run` names: `text`, `tokens`, an image or audio, with the target of an
/// encoder-decoder, or `file` with `array`.
struct SourceOfRun {
  std::optional<std::string> text, target;
  TokenIds tokens, target_tokens;
  std::string media, media_file;
  std::string file, array;
};

SourceOfRun source_in(const json& value, const EditLocation& location) {
  if (!value.is_object()) {
    location.refuse("'from_run' is not an object",
                    verbatim(R"(for example {"text": "To be"} or {"file": "run.safetensors"})"));
  }
  SourceOfRun source;
  for (const auto& [key, part] : value.items()) {
    if (key == "tokens" || key == "target_tokens") {
      (key == "tokens" ? source.tokens : source.target_tokens) =
          indices_in(part, key.c_str(), location);
      continue;
    }
    const bool is_media = std::ranges::count(kMediaParameters, key) > 0;
    if (!is_media && key != "text" && key != "target" && key != "file" && key != "array") {
      location.refuse("unknown key '" + key + "' of 'from_run'",
                      "known keys: text, tokens, image, pixel_values, audio, features, target, "
                      "target_tokens, file, array");
    }
    if (!part.is_string() || part.get_ref<const std::string&>().empty()) {
      location.refuse("'" + key + "' of 'from_run' is not a text");
    }
    const auto& given = part.get_ref<const std::string&>();
    if (given.find('\0') != std::string::npos) location.refuse("'" + key + "' has a null byte");
    if (is_media && !source.media.empty()) location.refuse("'from_run' has several inputs");
    if (is_media) {
      source.media = key;
      source.media_file = given;
    }
    if (key == "text") source.text = given;
    if (key == "target") source.target = given;
    if (key == "file") source.file = given;
    if (key == "array") source.array = given;
  }
  const int given = (source.text ? 1 : 0) + (source.tokens.empty() ? 0 : 1) +
                    (source.media.empty() ? 0 : 1) + (source.file.empty() ? 0 : 1);
  if (given != 1) {
    location.refuse("'from_run' needs one of text, tokens and file",
                    "or of image, pixel_values, audio and features");
  }
  if (source.target && !source.target_tokens.empty()) {
    location.refuse("'from_run' has both target and target_tokens");
  }
  if (!source.file.empty() && (source.target || !source.target_tokens.empty())) {
    location.refuse("a target in 'from_run' requires text, tokens, or an image or audio");
  }
  if (!source.array.empty() && source.file.empty()) {
    location.refuse("'array' of 'from_run' requires 'file'");
  }
  return source;
}

/// Positions of another run need a list of positions with as many entries.
void check_from_positions(const RunEdit& wanted, const EditLocation& location) {
  const ActivationEdit& edit = wanted.edit;
  if (edit.each_new) {
    location.refuse("'from_run' has no generated tokens", "select positions of the text");
  }
  if (wanted.from_positions.empty()) return;
  const auto is_one = [](const PositionRange& range) { return range.first == range.last; };
  if (!std::all_of(edit.positions.begin(), edit.positions.end(), is_one) ||
      edit.positions.size() != wanted.from_positions.size()) {
    location.refuse("'from_positions' requires 'positions' with as many entries");
  }
}

EditRecord parse_edit(const json& record, const EditLocation& location, const Session& session) {
  if (!record.is_object()) location.refuse("is not an object");
  RunEdit wanted;
  ActivationEdit& edit = wanted.edit;
  std::optional<SourceOfRun> source;
  bool has_value = false;
  std::string name;
  const auto one_value = [&] {
    if (has_value) {
      location.refuse("has more than one of set, add, scale, project_out and from_run");
    }
    has_value = true;
  };
  for (const auto& [key, value] : record.items()) {
    const auto operation =
        std::find_if(kOperations.begin(), kOperations.end(),
                     [&name = key](const auto& each) { return name == each.first; });
    if (operation != kOperations.end()) {
      one_value();
      edit.how = operation->second;
      edit.value = value_in(value, location);
    } else if (key == "from_run") {
      one_value();
      source = source_in(value, location);
    } else if (key == "from_positions") {
      wanted.from_positions = positions_in(value, "from_positions", location);
    } else if (key == "name") {
      if (!value.is_string()) location.refuse("'name' is not a text");
      name = value.get<std::string>();
    } else if (key == "layer") {
      edit.layers = indices_in(value, "layer", location);
      sort_unique(edit.layers);
    } else if (key == "head") {
      edit.heads = indices_in(value, "head", location);
      edit.one_head = !value.is_array();
      std::vector<std::int64_t> each = edit.heads;
      sort_unique(each);
      if (each.size() < edit.heads.size()) location.refuse("'head' lists a head twice");
    } else if (key == "positions") {
      read_positions(value, edit, location);
    } else if (key == "tokens") {
      edit.tokens = indices_in(value, "tokens", location).front();
    } else {
      location.refuse("unknown key '" + key + "'",
                      "known keys: name, layer, head, positions, tokens, set, add, scale, "
                      "project_out, from_run, from_positions");
    }
  }
  const auto point = hook_from_name(name);
  if (!point)
    location.refuse(name.empty() ? "missing 'name'" : "unknown activation '" + name + "'");
  if (!has_value) location.refuse("has none of set, add, scale, project_out and from_run");
  edit.point = *point;
  edit.where = "edit " + std::to_string(location.index) + " ('" + name + "')";
  if (!source) {
    if (!wanted.from_positions.empty()) location.refuse("'from_positions' requires 'from_run'");
    return {.edits = {std::move(edit)}};
  }
  check_from_positions(wanted, location);
  if (!source->media.empty()) session.files->add_input("edits", source->media_file);
  if (source->file.empty()) {
    return {.wanted = std::move(wanted),
            .text = std::move(source->text),
            .tokens = std::move(source->tokens),
            .target = std::move(source->target),
            .target_tokens = std::move(source->target_tokens),
            .media = std::move(source->media),
            .media_file = std::move(source->media_file)};
  }
  session.files->add_input("edits", source->file);
  return {.edits = edits_from_file(wanted, source->file, source->array)};
}

}  // namespace

std::vector<EditRecord> read_edits(const std::string& file, const Session& session) {
  const json list = parse_python_json(session.files->read_text(file, kEditsLimitBytes), file);
  if (!list.is_array() || list.empty()) {
    throw Error(
        ErrorKind::format,
        {.file = file,
         .problem = "is not a list of edits",
         .hint = verbatim(R"(for example [{"name": "z", "layer": 3, "head": 2, "scale": 0}])")});
  }
  std::vector<EditRecord> edits;
  for (std::size_t index = 0; index < list.size(); ++index) {
    edits.push_back(parse_edit(list[index], {.file = file, .index = index}, session));
  }
  return edits;
}

}  // namespace attnscope
