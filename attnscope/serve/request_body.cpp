#include "attnscope/serve/request_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/serve/limits.h"
#include "attnscope/serve/live_analyses.h"

namespace attnscope {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_body(const std::string& parameter, const std::string& problem) {
  throw Error(ErrorKind::usage, {.parameter = parameter, .problem = problem});
}

/// The JSON object in a request's body. Throws Error(usage) and Error(format).
json request_object(const HttpRequest& request) {
  const std::string type = request.header("content-type");
  if (type.substr(0, type.find(';')) != "application/json") {
    throw Error(ErrorKind::usage, "Content-Type", "must be application/json");
  }
  if (request.headers.contains("content-encoding")) {
    throw Error(ErrorKind::usage, "Content-Encoding", "encoded bodies are not supported");
  }
  json body = parse_json(request.body, "", "body");
  if (!body.is_object()) throw Error(ErrorKind::format, "body", "is not a JSON object");
  return body;
}

std::string text_of(const std::string& name, const json& value,
                    std::size_t limit_bytes = kRunTextLimitBytes) {
  if (!value.is_string()) refuse_body(name, "is not a string");
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty()) refuse_body(name, "is empty");
  if (text.size() > limit_bytes) {
    refuse_body(name, "exceeds the limit of " + std::to_string(limit_bytes) + " bytes");
  }
  return text;
}

/// The bytes of an image or audio file.
std::string file_of(const std::string& name, const json& value) {
  if (!value.is_string()) refuse_body(name, "is not a string");
  const auto& text = value.get_ref<const std::string&>();
  std::optional<std::string> bytes = from_base64(text);
  if (!bytes) refuse_body(name, "is not valid base64");
  if (bytes->empty()) refuse_body(name, "is empty");
  if (bytes->size() > kRunFileLimitBytes) {
    refuse_body(name, "exceeds the limit of " + std::to_string(kRunFileLimitBytes) + " bytes");
  }
  return *std::move(bytes);
}

/// The index of a model by its name.
std::size_t model_of(const json& value, std::span<const Model> models) {
  const std::string name = text_of("model", value);
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const Model& model) { return model.name() == name; });
  if (found == models.end()) {
    refuse_body("model", "'" + verbatim(printable(name)) + "' is not served here");
  }
  return static_cast<std::size_t>(found - models.begin());
}

[[noreturn]] void refuse_unknown(const std::string& name) {
  throw Error(ErrorKind::usage, printable(name), "unknown parameter");
}

}  // namespace

std::vector<Parameter> text_run_parameters() {
  const Command& attention = find_command_named("attention");
  std::vector<Parameter> parameters;
  for (const char* name :
       {"text", "text_pair", "tokens", "token_types", "target", "target_tokens", "image", "audio",
        "layers", "exclude_first_token", "lines", "score_positions"}) {
    parameters.push_back(*find_parameter(attention, name));
  }
  return parameters;
}

TextRequest read_text_request(const HttpRequest& request, std::span<const Model> models) {
  const json body = request_object(request);
  std::optional<std::size_t> asked_model;
  ArgumentTexts texts = {{"models", "MODEL"}};  // required; the value is not used
  bool has_text = false, exclude_first_token = false;
  std::string sent;
  for (const auto& item : body.items()) {
    const std::string& name = item.key();
    const json& value = item.value();
    if (name == "model") {
      asked_model = model_of(value, models);
      continue;
    }
    if (name == kLongText) {
      sent = text_of(name, value, kRunFileLimitBytes);
      texts.emplace_back("text_file", kSentFile);
      has_text = true;
      continue;
    }
    const std::vector<Parameter> known = text_run_parameters();
    if (std::none_of(known.begin(), known.end(),
                     [&](const Parameter& parameter) { return parameter.name == name; })) {
      refuse_unknown(name);
    }
    if (name == "exclude_first_token") {
      if (!value.is_boolean()) refuse_body(name, "is not a boolean");
      exclude_first_token = value.get<bool>();
      continue;
    }
    if (name == "lines") {
      if (!value.is_boolean()) refuse_body(name, "is not a boolean");
      if (value.get<bool>()) texts.emplace_back(name, "");
      continue;
    }
    // A request cannot name files, so it cannot use masks.
    if (name == "score_positions" && !parse_position_ranges(text_of(name, value))) {
      refuse_body(name, "is not a list of positions, for example: last, 10-, 3,7 or 5-9");
    }
    if (name == "image" || name == "audio") {
      sent = file_of(name, value);
      texts.emplace_back(name, kSentFile);
      has_text = true;
      continue;
    }
    texts.emplace_back(name, text_of(name, value));
    has_text = has_text || name == "text" || name == "tokens";
  }
  if (!has_text)
    refuse_body("text", "missing input: send {text}, {long_text}, {tokens}, {image} or {audio}");
  return {.model = asked_model,
          .text = arguments_of(find_command_named("attention"), texts),
          .exclude_first_token = exclude_first_token,
          .sent = std::move(sent)};
}

CalibrationRequest read_calibration(const HttpRequest& request, std::span<const Model> models) {
  const json body = request_object(request);
  CalibrationRequest wanted;
  for (const auto& item : body.items()) {
    if (item.key() == "model") {
      wanted.model = model_of(item.value(), models);
    } else if (item.key() == "text") {
      wanted.text = text_of(item.key(), item.value(), kRunFileLimitBytes);
    } else {
      refuse_unknown(item.key());
    }
  }
  if (wanted.text.empty()) refuse_body("text", "missing calibration text");
  return wanted;
}

std::string read_analysis_id(const HttpRequest& request) {
  const json body = request_object(request);
  if (body.size() != 1 || !body.contains("id"))
    refuse_body("id", "expected {id} and no other parameter");
  const std::string id = text_of("id", body["id"]);
  const std::vector<std::string> known = live_analysis_ids();
  if (id != kMissing && std::find(known.begin(), known.end(), id) == known.end()) {
    refuse_body("id", "'" + verbatim(printable(id)) + "' is not an analysis; available: " +
                          join(known) + ", and " + kMissing + " for all missing ones");
  }
  return id;
}

}  // namespace attnscope
