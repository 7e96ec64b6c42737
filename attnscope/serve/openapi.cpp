#include "attnscope/serve/api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/rows/field.h"
#include "attnscope/serve/limits.h"
#include "attnscope/serve/live_analyses.h"
#include "attnscope/serve/request_body.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

ordered_json described(std::string_view type, std::string_view meaning) {
  return {{"type", type}, {"description", meaning}};
}

ordered_json nullable(std::string_view type, std::string_view meaning) {
  return {{"type", ordered_json::array({type, "null"})}, {"description", meaning}};
}

ordered_json list_of(const ordered_json& entry, std::string_view meaning) {
  return {{"type", "array"}, {"items", entry}, {"description", meaning}};
}

ordered_json reference(std::string_view schema) {
  return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

/// An object of whose properties all are there, but for those in `optional`.
ordered_json object_schema(const ordered_json& properties,
                           const std::vector<std::string>& optional = {}, bool closed = true) {
  ordered_json required = ordered_json::array();
  for (const auto& [name, schema] : properties.items()) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) {
      required.push_back(name);
    }
  }
  ordered_json object = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) object["required"] = required;
  if (closed) object["additionalProperties"] = false;
  return object;
}

std::string help_of(const Parameter& parameter) {
  return spell_parameters(full_help(parameter),
                          [](std::string_view name) { return std::string(name); });
}

ordered_json long_text(const std::string& meaning) {
  ordered_json text = described(
      "string", meaning + "; of at most " + std::to_string(kRunFileLimitBytes) + " bytes in UTF-8");
  text["minLength"] = 1;
  return text;
}

ordered_json text_request() {
  ordered_json properties = {
      {"model", described("string", "the name of one model; without it all are run")}};
  for (const Parameter& parameter : text_run_parameters()) {
    const bool flag = parameter.type == ParameterType::flag;
    ordered_json& property = properties[parameter.name];
    property = described(flag ? "boolean" : "string", help_of(parameter));
    if (!flag) property["minLength"] = 1;
  }
  for (const char* name : {"text", "target"}) {
    properties[name]["description"] = properties[name]["description"].get<std::string>() +
                                      ", of at most " + std::to_string(kRunTextLimitBytes) +
                                      " bytes in UTF-8";
  }
  for (const char* name : {"image", "audio"}) {
    properties[name]["description"] = properties[name]["description"].get<std::string>() +
                                      ": the file, of at most " +
                                      std::to_string(kRunFileLimitBytes) + " bytes";
    properties[name]["contentEncoding"] = "base64";
  }
  properties[kLongText] = long_text("a text that is cut into windows, as that of a file is");
  std::vector<std::string> all;
  for (const auto& [name, schema] : properties.items()) all.push_back(name);
  ordered_json request = object_schema(properties, all);
  for (const char* name : {"text", kLongText, "tokens", "image", "audio"}) {
    request["oneOf"].push_back({{"required", ordered_json::array({name})}});
  }
  return request;
}

ordered_json plan_request() {
  return object_schema(
      {{"model",
        described("string", "the name of one model; without it those that read texts are planned")},
       {"text", long_text("what smaller models are fitted to, and on its last tenth measured")}},
      {"model"});
}

ordered_json job_schema() {
  const ordered_json progress = object_schema(
      {{"done", described("integer", "pieces of work")},
       {"total", described("integer", "all of them")},
       {"seconds", described("number", "since it started")},
       {"seconds_left", nullable("number", "an estimate; null before a piece is done")}});
  return object_schema(
      {{"job", described("integer", "its number")},
       {"what",
        described("string",
                  "attention, plan, the id of an analysis, missing, or stored: reads the store")},
       {"state", {{"enum", {"queued", "running", "done", "failed", "cancelled"}}}},
       {"progress", {{"anyOf", ordered_json::array({progress, {{"type", "null"}}})}}},
       {"revision", nullable("integer", "of the report that has what it found; null before")},
       {"error", {{"anyOf", ordered_json::array({reference("Error"), {{"type", "null"}}})}}}});
}

ordered_json models_path() {
  ordered_json facts = ordered_json::object();
  for (const Field& field : row_kinds().front().models) {
    facts[std::string(field.name)] = {{"description", field.meaning}};
  }
  const ordered_json analysis = object_schema(
      {{"id", reference("AnalysisId")},
       {"state", {{"enum", {"absent", "under_way", "done"}}}},
       {"needs_text", described("boolean", "whether it is of what was run last")},
       {"again", described("string", "the commands that print its rows, a line for each model")}});
  const ordered_json parameter = object_schema({{"name", described("string", "in a TextRequest")},
                                                {"type", {{"enum", {"text", "boolean"}}}},
                                                {"help", described("string", "a line")}});
  const ordered_json maps =
      object_schema({{"model", described("integer", "place among the models")},
                     {"layers", list_of({{"type", "integer"}}, "those that were run")},
                     {"heads", described("integer", "of each layer")},
                     {"tokens", described("integer", "T: a map is T x S")},
                     {"keys", described("integer", "S")}});
  ordered_json raw_maps = list_of(maps, "of what was run last; null before");
  raw_maps["type"] = ordered_json::array({"array", "null"});
  return object_schema(
      {{"version", described("string", "of attnscope")},
       {"revision", described("integer", "of the report; it grows with every change")},
       {"models", list_of({{"type", "object"}, {"properties", facts}}, "facts, as info has them")},
       {"analyses", list_of(analysis, "what can be started, and what the report has")},
       {"text_parameters", list_of(parameter, "what a run takes")},
       {"raw_maps", raw_maps},
       {"jobs", list_of(reference("Job"), "those that wait or run")},
       {"text_limit_bytes", described("integer", "the longest text, in UTF-8")},
       {"file_limit_bytes", described("integer", "the largest picture or sound")}});
}

ordered_json analysis_request() {
  ordered_json missing = {{"const", kMissing},
                          {"description", "all that the report lacks and that needs no text"}};
  return object_schema(
      {{"id", {{"anyOf", ordered_json::array({reference("AnalysisId"), missing})}}}});
}

ordered_json schemas() {
  ordered_json error =
      object_schema({{"kind", described("string", "what went wrong, for programs")},
                     {"message", described("string", "what went wrong, in one line")},
                     {"parameter", described("string", "what of the request it is about")},
                     {"hint", described("string", "what to do; the message ends with it, too")}},
                    {"parameter", "hint"});
  ordered_json report =
      object_schema({{"schema", {{"const", "attnscope-report/1"}}},
                     {"revision", described("integer", "it grows with every change")}},
                    {}, /*closed=*/false);
  report["description"] = "what docs/formats.md calls a report file, and its revision";
  return {{"Error", error},
          {"Refusal", object_schema({{"error", reference("Error")}})},
          {"AnalysisId", {{"enum", live_analysis_ids()}}},
          {"AnalysisRequest", analysis_request()},
          {"TextRequest", text_request()},
          {"PlanRequest", plan_request()},
          {"Started", object_schema({{"job", described("integer", "its number")}})},
          {"Job", job_schema()},
          {"Models", models_path()},
          {"Report", report}};
}

/// {"application/json": {"schema": …}}.
ordered_json content_of(std::string_view answer) {
  ordered_json content = ordered_json::object();
  if (answer.find('/') != std::string_view::npos) {
    content[std::string(answer)] = ordered_json::object();
  } else {
    content["application/json"] = {{"schema", reference(answer)}};
  }
  return content;
}

ordered_json parameters_of(const Route& route) {
  ordered_json parameters = ordered_json::array();
  for (std::size_t begin = 0; (begin = route.path.find('{', begin)) != std::string_view::npos;) {
    const std::size_t end = route.path.find('}', begin);
    parameters.push_back({{"name", route.path.substr(begin + 1, end - begin - 1)},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "integer"}, {"minimum", 0}}}});
    begin = end;
  }
  if (route.path == "/api/results" || route.path == "/api/values" || route.path == "/api/maps") {
    parameters.push_back({{"name", "revision"},
                          {"in", "query"},
                          {"description", "refused with 409 where the report has another one"},
                          {"schema", {{"type", "integer"}}}});
  }
  return parameters;
}

ordered_json operation_of(const Route& route) {
  const bool starts = route.answer == "Started" || route.method == "DELETE";
  ordered_json operation = {{"summary", route.summary}};
  if (const ordered_json parameters = parameters_of(route); !parameters.empty()) {
    operation["parameters"] = parameters;
  }
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", true}, {"content", content_of(route.body)}};
  }
  operation["responses"] = {
      {starts ? "202" : "200",
       {{"description", starts ? "accepted" : "what was asked for"},
        {"content", content_of(route.answer)}}},
      {"default", {{"description", "refused"}, {"content", content_of("Refusal")}}}};
  return operation;
}

}  // namespace

std::string openapi_text() {
  ordered_json paths = ordered_json::object();
  for (const Route& route : routes()) {
    std::string method;
    for (const char c : route.method) method += static_cast<char>(c - 'A' + 'a');
    paths[std::string(route.path)][method] = operation_of(route);
  }
  const ordered_json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "attnscope serve"},
        {"version", "1"},
        {"description", "What a running `attnscope serve` answers; docs/http.md says more."}}},
      {"paths", paths},
      {"components",
       {{"schemas", schemas()},
        {"securitySchemes",
         {{"in_address", {{"type", "apiKey"}, {"in", "query"}, {"name", "token"}}},
          {"in_header", {{"type", "http"}, {"scheme", "bearer"}}}}}}},
      {"security", ordered_json::array({ordered_json::object(),
                                        {{"in_address", ordered_json::array()}},
                                        {{"in_header", ordered_json::array()}}})}};
  return document.dump(1) + "\n";
}

}  // namespace attnscope
