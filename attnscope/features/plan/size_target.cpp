#include "attnscope/features/plan/size_target.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/methods.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_set(const std::string& text) {
  std::vector<std::string> examples;
  for (const Method method : methods()) {
    const bool other_name = !method->set_name.empty();
    examples.push_back(std::string(method->set_example) +
                       (other_name ? " (" + std::string(method->name) + ")" : ""));
  }
  throw Error(ErrorKind::usage, {.parameter = "set",
                                 .problem = "'" + verbatim(text) + "' is not a valid setting",
                                 .hint = "use a setting such as " + join_alternatives(examples)});
}

Choice choice_of(const std::string& text, const Model& model) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_set(text);
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  const auto found = std::ranges::find_if(methods(), [&](Method method) {
    return name == (method->set_name.empty() ? method->name : method->set_name);
  });
  if (found == methods().end()) refuse_set(text);
  const Method method = *found;
  if (method->parse_set != nullptr) {
    const auto choice = method->parse_set(value, model);
    if (!choice) refuse_set(text);
    return *choice;
  }
  const auto size = whole_number(value);
  if (!size) refuse_set(text);
  return {.method = method, .size = *size};
}

[[noreturn]] void refuse_range(const std::string& parameter, const std::string& text,
                               const std::string& range) {
  throw Error(ErrorKind::usage,
              {.parameter = parameter, .problem = "'" + verbatim(text) + "' is not " + range});
}

}  // namespace

double number_of_text(const std::string& parameter, const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) {
    return number;
  }
  refuse_range(parameter, text, "a number");
}

PlanTarget plan_target(const Arguments& arguments, const Model& model, std::vector<Method>& by) {
  PlanTarget out;
  for (const char* name : {"keep", "kv_bytes", "max_perplexity", "set"}) {
    if (!arguments.given(name)) continue;
    if (!out.text.empty()) {
      throw Error(
          ErrorKind::usage,
          {.parameter = name, .problem = "cannot be combined with another target: " + out.text});
    }
    out.text = std::string(name) + " " + arguments.text(name);
  }
  if (arguments.given("keep")) {
    const std::string text = arguments.text("keep");
    out.keep = number_of_text("keep", text);
    if (*out.keep <= 0 || *out.keep > 1)
      refuse_range("keep", text, "a share greater than 0 and at most 1");
  }
  if (arguments.given("kv_bytes")) {
    const std::string text = arguments.text("kv_bytes");
    out.kv_bytes = number_of_text("kv_bytes", text);
    const bool share = *out.kv_bytes > 0 && *out.kv_bytes <= 1;
    if (!share && *out.kv_bytes < 2) {
      refuse_range("kv_bytes", text,
                   "a share greater than 0 and at most 1, or a number of bytes of at least 2");
    }
  }
  if (arguments.given("max_perplexity")) {
    std::string text = arguments.text("max_perplexity");
    if (text.starts_with('+') && text.ends_with('%')) {
      const double percent = number_of_text("max_perplexity", text.substr(1, text.size() - 2));
      if (percent < 0) refuse_range("max_perplexity", text, "+0% or more");
      out.loss = std::log1p(percent / 100);
    } else {
      out.perplexity = number_of_text("max_perplexity", text);
      if (*out.perplexity <= 1)
        refuse_range("max_perplexity", text, "a perplexity above 1, or +5%");
    }
  }
  if (!arguments.given("set")) return out;
  out.set = choice_of(arguments.text("set"), model);
  if (!by.empty() && by != std::vector{out.set->method}) {
    throw Error(ErrorKind::usage,
                {.parameter = "set", .problem = "sets another method than {method}"});
  }
  by = {out.set->method};
  return out;
}

}  // namespace attnscope
