// docs/openapi.json describes the actual responses of the server.
#include "tests/serve/server.h"

namespace attnscope::test {
namespace {

/// Validates values against the schemas of the document, for the subset of JSON Schema that it
/// uses.
class Schemas {
 public:
  explicit Schemas(const json& document) : all_(document.at("components").at("schemas")) {}

  void expect(const json& value, const std::string& schema) const {
    std::string fault;
    EXPECT_TRUE(fits(value, all_.at(schema), "", fault)) << schema << fault << ": " << value;
  }
  bool fits(const json& value, const std::string& schema) const {
    std::string ignored;
    return fits(value, all_.at(schema), "", ignored);
  }

 private:
  static bool has_type(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }

  bool fits_any(const json& value, const json& schemas, const std::string& place) const {
    std::string ignored;
    return std::any_of(schemas.begin(), schemas.end(),
                       [&](const json& schema) { return fits(value, schema, place, ignored); });
  }

  bool fits(const json& value, const json& schema, const std::string& place,
            std::string& fault) const {
    const auto wrong = [&](const char* what) {
      fault = place + " " + what;
      return false;
    };
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"];
      return fits(value, all_.at(name.substr(name.rfind('/') + 1)), place, fault);
    }
    if (schema.contains("anyOf") && !fits_any(value, schema["anyOf"], place)) return wrong("anyOf");
    if (schema.contains("oneOf") && !fits_any(value, schema["oneOf"], place)) return wrong("oneOf");
    if (schema.contains("const") && value != schema["const"]) return wrong("const");
    if (schema.contains("enum")) {
      const json& choices = schema["enum"];
      if (std::find(choices.begin(), choices.end(), value) == choices.end()) return wrong("enum");
    }
    if (schema.contains("type")) {
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      if (std::none_of(types.begin(), types.end(),
                       [&](const json& type) { return has_type(value, type); })) {
        return wrong("type");
      }
    }
    if (value.is_array() && schema.contains("items")) {
      for (const json& entry : value) {
        if (!fits(entry, schema["items"], place + "[]", fault)) return false;
      }
    }
    if (!value.is_object()) return true;
    const json properties = schema.value("properties", json::object());
    for (const json& name : schema.value("required", json::array())) {
      if (!value.contains(name.get<std::string>())) return wrong(name.get<std::string>().c_str());
    }
    for (const auto& [name, entry] : value.items()) {
      if (properties.contains(name)) {
        if (!fits(entry, properties[name], place + "." + name, fault)) return false;
      } else if (schema.value("additionalProperties", true) == false) {
        return wrong(name.c_str());
      }
    }
    return true;
  }

  json all_;
};

json document() { return json::parse(output_of({"serve", "--openapi"})); }

TEST(OpenApi, TheCommittedDocumentIsUpToDate) {
  EXPECT_EQ(output_of({"serve", "--openapi"}), read_file(source_path("docs/openapi.json")));
}

TEST(OpenApi, DescribesTheResponsesOfTheServer) {
  const Schemas schemas(document());
  const Server server;
  schemas.expect(server.get("/api/models"), "Models");
  schemas.expect(server.get("/api/results"), "Report");
  const json text = {{"text", "To be"}, {"layers", "0"}, {"exclude_first_token", true}};
  schemas.expect(text, "TextRequest");
  const json started = json::parse(server.talk().post("/api/attention", text.dump()).body);
  schemas.expect(started, "Started");
  const json job = server.finished(started["job"]);
  schemas.expect(job, "Job");
  EXPECT_EQ(job["state"], "done");
  schemas.expect(server.get("/api/models"), "Models");
  schemas.expect(server.finished(server.start("/api/attention", {{"tokens", "999999"}})), "Job");
  schemas.expect(server.get("/api/jobs/99"), "Refusal");
  schemas.expect(json::parse(server.talk().post("/api/attention", "{}").body), "Refusal");
  for (const char* refused : {R"({})", R"({"text":5})", R"({"text":"a","file":"b"})"}) {
    EXPECT_FALSE(schemas.fits(json::parse(refused), "TextRequest")) << refused;
    EXPECT_EQ(server.talk().post("/api/attention", refused).status, 400) << refused;
  }
}

TEST(OpenApi, EveryPathIsServedAndAcceptsItsMethods) {
  const Server server;
  const json api = document();
  for (const auto& [path, operations] : api["paths"].items()) {
    std::string asked = path;
    for (std::size_t at = 0; (at = asked.find('{')) != std::string::npos;) {
      asked.replace(at, asked.find('}') - at + 1, "7");
    }
    for (const std::string method : {"GET", "POST", "DELETE", "PUT"}) {
      std::string lower = method;
      for (char& c : lower) c = static_cast<char>(c - 'A' + 'a');
      // Checks only the status, because a response may be an endless stream.
      const ClientSocket socket(server.port());
      socket.send(server.talk().request_text(method, asked));
      const int status =
          std::stoi(socket.receive("\r\n").substr(std::string_view("HTTP/1.1 ").size()));
      EXPECT_EQ(status == 405, !operations.contains(lower)) << method << " " << asked << status;
    }
  }
}

}  // namespace
}  // namespace attnscope::test
