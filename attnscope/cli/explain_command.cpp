#include <CLI/CLI.hpp>
#include <memory>

#include "attnscope/cli/command.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/core/error.h"
#include "attnscope/output/explain.h"
#include "attnscope/output/json_schema.h"

namespace attnscope {
namespace {

struct ExplainArguments {
  std::string field;
  std::string format = "table";
  bool schema = false;
};

std::string flag_of(std::string_view parameter) {
  if (parameter == "field") return "FIELD";
  std::string flag = "--" + std::string(parameter);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

int run(const ExplainArguments& arguments) {
  if (arguments.schema && !arguments.field.empty()) {
    throw Error(ErrorKind::usage, "--schema", "describes all fields; leave out the one");
  }
  if (arguments.format != "table" && arguments.format != "json") {
    throw Error(ErrorKind::usage, "--format", "takes table or json");
  }
  try {
    OutputTarget().write([&](std::ostream& out) {
      if (arguments.schema) {
        out << json_schema_text();
      } else if (arguments.format == "json") {
        write_explanation_json(arguments.field, out);
      } else {
        write_explanation(arguments.field, flag_of, out);
      }
    });
  } catch (const Error& error) {
    if (error.parts().parameter.empty()) throw;
    throw Error(error.kind(), flag_of(error.parts().parameter), error.parts().problem,
                error.parts().hint);
  }
  return 0;
}

}  // namespace

std::function<int()> set_up_explain(CLI::App& app) {
  const auto arguments = std::make_shared<ExplainArguments>();
  app.add_option("FIELD", arguments->field, "a field of a report; none: all, a line each")
      ->type_name("");
  app.add_option("--format", arguments->format, "table or json")->type_name("NAME");
  app.add_flag("--schema", arguments->schema, "the JSON Schema of every report");
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
