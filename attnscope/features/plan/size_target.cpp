#include "attnscope/features/plan/size_target.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse_set(const std::string& text) {
  throw Error(ErrorKind::usage,
              {.parameter = "set",
               .problem = "'" + verbatim(text) + "' is no choice",
               .hint = "such as without=2,4 (layers), width=384, hidden=144, head-width=16, "
                       "kv-heads=1, heads=4, latent=32+32, experts=6 or ranks=0.q:64,3.up:100"});
}

std::int64_t whole_number(const std::string& text, const std::string& of) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) refuse_set(of);
  return number;
}

Choice layers_without(const std::string& list, const std::string& text, const Model& model) {
  std::vector<std::int64_t> kept(static_cast<std::size_t>(model.dimensions().layers));
  std::iota(kept.begin(), kept.end(), std::int64_t{0});
  for (const std::string& part : list_parts(list)) {
    const std::int64_t layer = whole_number(part, text);
    if (std::erase(kept, layer) == 0) {
      throw Error(ErrorKind::usage, {.parameter = "set",
                                     .problem = verbatim(model.name()) + " has no layer " +
                                                std::to_string(layer) + " to leave out"});
    }
  }
  if (kept.empty()) refuse_set(text);
  return {.form = Form::layers, .size = std::ssize(kept), .kept = {kept}};
}

Choice single_ranks(const std::string& list, const std::string& text, const Model& model) {
  Choice out{.form = Form::ranks};
  for (const std::string& part : list_parts(list)) {
    const std::size_t dot = part.find('.'), colon = part.find(':');
    if (dot == std::string::npos || colon == std::string::npos || colon < dot) refuse_set(text);
    const auto role = role_from_name(part.substr(dot + 1, colon - dot - 1));
    const std::int64_t layer = whole_number(part.substr(0, dot), text);
    if (!role || !is_projection(*role) || layer < 0 || layer >= model.dimensions().layers) {
      refuse_set(text);
    }
    out.ranks[{layer, *role}] = whole_number(part.substr(colon + 1), text);
  }
  return out;
}

Choice choice_of(const std::string& text, const Model& model) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse_set(text);
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (name == "without") return layers_without(value, text, model);
  if (name == "ranks") return single_ranks(value, text, model);
  const auto form = form_from_name(name);
  if (!form || *form == Form::layers) refuse_set(text);
  if (*form != Form::latent) return {.form = *form, .size = whole_number(value, text)};
  const std::size_t plus = value.find('+');
  if (plus == std::string::npos) refuse_set(text);
  return {.form = Form::latent,
          .size = whole_number(value.substr(0, plus), text),
          .joint = whole_number(value.substr(plus + 1), text)};
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

PlanTarget plan_target(const Arguments& arguments, const Model& model, std::vector<Form>& forms) {
  PlanTarget out;
  for (const char* name : {"keep", "kv_bytes", "max_perplexity", "set"}) {
    if (!arguments.given(name)) continue;
    if (!out.text.empty()) {
      throw Error(ErrorKind::usage,
                  {.parameter = name, .problem = "is a second target beside " + out.text});
    }
    out.text = std::string(name) + " " + arguments.text(name);
  }
  if (arguments.given("keep")) {
    const std::string text = arguments.text("keep");
    out.keep = number_of_text("keep", text);
    if (*out.keep <= 0 || *out.keep > 1) refuse_range("keep", text, "a share above 0, at most 1");
  }
  if (arguments.given("kv_bytes")) {
    const std::string text = arguments.text("kv_bytes");
    out.kv_bytes = number_of_text("kv_bytes", text);
    const bool share = *out.kv_bytes > 0 && *out.kv_bytes <= 1;
    if (!share && *out.kv_bytes < 2) {
      refuse_range("kv_bytes", text, "a share above 0, at most 1, or a number of bytes from 2 on");
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
  if (!forms.empty() && forms != std::vector{out.set->form}) {
    throw Error(ErrorKind::usage, {.parameter = "set", .problem = "is of another form than {by}"});
  }
  forms = {out.set->form};
  return out;
}

}  // namespace attnscope
