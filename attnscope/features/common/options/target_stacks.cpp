#include "attnscope/features/common/options/target_stacks.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/target_options.h"

namespace attnscope {

bool needs_target(const Model& model) {
  return model.stack() == "decoder" || model.stack() == "cross";
}

bool is_of_encoder_decoder(const Model& model) {
  return model.sibling("decoder") != nullptr && model.sibling("encoder") != nullptr;
}

void check_targets(const std::vector<Model>& models, const Arguments& arguments) {
  if (models.empty() || std::any_of(models.begin(), models.end(), is_of_encoder_decoder)) return;
  for (const std::string_view target : kTargetParameters) {
    if (!arguments.given(target)) continue;
    throw Error(ErrorKind::usage, {.parameter = std::string(target),
                                   .problem = "requires an encoder-decoder model, but " +
                                              verbatim(models.front().name()) + " is not one"});
  }
}

void check_single_texts(const std::vector<Model>& models, const std::string& parameter) {
  const auto paired = std::find_if(models.begin(), models.end(), is_of_encoder_decoder);
  if (paired == models.end()) return;
  throw Error(ErrorKind::unsupported,
              {.parameter = parameter,
               .problem = "does not support encoder-decoder models: " + verbatim(paired->name()) +
                          " needs a source and a target text"});
}

std::vector<Model> stacks_with_targets(std::vector<Model> models, const Arguments& arguments,
                                       RowSink& sink) {
  const bool decode = std::any_of(models.begin(), models.end(), needs_target);
  if (target_is_given(arguments)) {
    check_targets(models, arguments);
    return models;
  }
  if (!decode) return models;
  std::vector<std::string> left;
  for (const Model& model : models) {
    if (needs_target(model)) left.push_back(model.name());
  }
  std::erase_if(models, needs_target);
  if (models.empty()) {
    throw Error(ErrorKind::usage,
                {.parameter = "target",
                 .problem = "missing target text: " + verbatim(join(left)) +
                            (left.size() == 1 ? " belongs" : " belong") + " to a decoder",
                 .hint = "pass {target}, {target_tokens} or {target_file}"});
  }
  sink.add_note(join(left) +
                " skipped: decoders require {target}, {target_tokens} or {target_file}");
  return models;
}

std::vector<Model> without_helping_stacks(std::vector<Model> models) {
  const auto has_decoder = [](const std::vector<Model>& among, const Model& model) {
    const Model* decoder = model.sibling("decoder");
    return std::any_of(among.begin(), among.end(), [&](const Model& other) {
      return decoder != nullptr && other.stack() == "decoder" &&
             other.sibling("decoder") == decoder;
    });
  };
  const std::vector<Model> all = models;
  std::erase_if(models, [&](const Model& model) {
    const bool helps = model.stack() == "encoder" || model.stack() == "cross";
    return helps && has_decoder(all, model);
  });
  for (const Model& model : models) {
    if (model.stack() != "cross") continue;
    const ModelSpec& spec = model.spec();
    if (!spec.not_run.empty()) {
      throw Error(ErrorKind::unsupported, {.file = spec.source, .problem = spec.not_run});
    }
    throw Error(ErrorKind::usage,
                {.parameter = "stack",
                 .problem = verbatim(model.name()) + " runs only together with its decoder",
                 .hint = "pass {stack} decoder"});
  }
  return models;
}

}  // namespace attnscope
