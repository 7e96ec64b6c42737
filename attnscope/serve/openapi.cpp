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

/// Schema of an object that requires all properties except those in `optional`.
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
      "string", meaning + "; at most " + std::to_string(kRunFileLimitBytes) + " bytes in UTF-8");
  text["minLength"] = 1;
  return text;
}

ordered_json text_request() {
  ordered_json properties = {
      {"model", described("string", "name of one model (default: run all models)")}};
  for (const Parameter& parameter : text_run_parameters()) {
    const bool flag = parameter.type == ParameterType::flag;
    ordered_json& property = properties[parameter.name];
    property = described(flag ? "boolean" : "string", help_of(parameter));
    if (!flag) property["minLength"] = 1;
  }
  for (const char* name : {"text", "target"}) {
    properties[name]["description"] = properties[name]["description"].get<std::string>() +
                                      ", at most " + std::to_string(kRunTextLimitBytes) +
                                      " bytes in UTF-8";
  }
  for (const char* name : {"image", "audio"}) {
    properties[name]["description"] = properties[name]["description"].get<std::string>() +
                                      ": contents of the file, at most " +
                                      std::to_string(kRunFileLimitBytes) + " bytes";
    properties[name]["contentEncoding"] = "base64";
  }
  properties[kLongText] =
      long_text("a long text, which is split into windows like the text of a file");
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
      {{"model", described("string", "name of one model (default: all models that accept text)")},
       {"text",
        long_text(
            "calibration text for the compressed models; its last tenth is the evaluation text")}},
      {"model"});
}

ordered_json job_schema() {
  const ordered_json progress = object_schema(
      {{"done", described("integer", "number of finished work items")},
       {"total", described("integer", "total number of work items")},
       {"seconds", described("number", "seconds since the start of the job")},
       {"seconds_left",
        nullable("number",
                 "estimated remaining seconds; null before the first item is finished")}});
  return object_schema(
      {{"job", described("integer", "number of the job")},
       {"what", described("string",
                          "kind of job: attention, plan, the id of an analysis, missing, or stored "
                          "(reads the store)")},
       {"state", {{"enum", {"queued", "running", "done", "failed", "cancelled"}}}},
       {"progress", {{"anyOf", ordered_json::array({progress, {{"type", "null"}}})}}},
       {"revision",
        nullable("integer", "revision of the report that contains the result; null until then")},
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
       {"needs_text", described("boolean", "true: the analysis uses the last input")},
       {"again",
        described("string", "commands that print the rows of the analysis, one line per model")}});
  const ordered_json parameter =
      object_schema({{"name", described("string", "name of the parameter in a TextRequest")},
                     {"type", {{"enum", {"text", "boolean"}}}},
                     {"help", described("string", "one-line description")}});
  const ordered_json maps =
      object_schema({{"model", described("integer", "index of the model in `models`")},
                     {"layers", list_of({{"type", "integer"}}, "layers that were run")},
                     {"heads", described("integer", "number of heads per layer")},
                     {"tokens", described("integer", "number of queries T; a map is T x S")},
                     {"keys", described("integer", "number of keys S")}});
  ordered_json raw_maps =
      list_of(maps, "attention maps of the last input; null before the first run");
  raw_maps["type"] = ordered_json::array({"array", "null"});
  return object_schema(
      {{"version", described("string", "version of attnscope")},
       {"revision", described("integer", "revision of the report; incremented with every change")},
       {"models", list_of({{"type", "object"}, {"properties", facts}},
                          "metadata of the model, as printed by `info`")},
       {"analyses", list_of(analysis, "analyses that can be started or are in the report")},
       {"text_parameters", list_of(parameter, "parameters of a run")},
       {"raw_maps", raw_maps},
       {"jobs", list_of(reference("Job"), "queued and running jobs")},
       {"text_limit_bytes", described("integer", "maximum size of a text in UTF-8")},
       {"file_limit_bytes", described("integer", "maximum size of an image or audio file")}});
}

ordered_json analysis_request() {
  ordered_json missing = {
      {"const", kMissing},
      {"description", "every analysis that is missing from the report and needs no text"}};
  return object_schema(
      {{"id", {{"anyOf", ordered_json::array({reference("AnalysisId"), missing})}}}});
}

ordered_json schemas() {
  ordered_json error = object_schema(
      {{"kind", described("string", "kind of the error, for programs")},
       {"message", described("string", "error message in one line")},
       {"parameter", described("string", "parameter of the request that caused the error")},
       {"hint", described("string", "how to fix the error; also the end of the message")}},
      {"parameter", "hint"});
  ordered_json report = object_schema(
      {{"schema", {{"const", "attnscope-report/1"}}},
       {"revision", described("integer", "revision of the report; incremented with every change")}},
      {}, /*closed=*/false);
  report["description"] = "report file as described in docs/formats.md, with its revision";
  return {{"Error", error},
          {"Refusal", object_schema({{"error", reference("Error")}})},
          {"AnalysisId", {{"enum", live_analysis_ids()}}},
          {"AnalysisRequest", analysis_request()},
          {"TextRequest", text_request()},
          {"PlanRequest", plan_request()},
          {"Started", object_schema({{"job", described("integer", "number of the job")}})},
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
    parameters.push_back(
        {{"name", "revision"},
         {"in", "query"},
         {"description", "expected revision; answered with 409 if the report has another one"},
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
       {{"description", starts ? "accepted" : "the requested content"},
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
        {"description", "HTTP API of `attnscope serve`; see docs/http.md."}}},
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
