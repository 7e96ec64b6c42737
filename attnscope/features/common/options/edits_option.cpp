#include "attnscope/features/common/options/edits_option.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/features/common/options/edit_records.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

/// The parts of an edit that its results depend on. `value`: whether they include its value.
Record edit_record(const ActivationEdit& edit, bool value) {
  Value::List positions;
  for (const PositionRange& range : edit.positions) {
    positions.emplace_back(std::vector<std::int64_t>{range.first, range.last});
  }
  Record record = {{"name", std::string(hook_name(edit.point))},
                   {"layers", edit.layers},
                   {"heads", edit.heads},
                   {"one_head", edit.one_head},
                   {"positions", std::move(positions)},
                   {"each_new", edit.each_new}};
  if (!value) return record;
  record.add("operation", static_cast<std::int64_t>(edit.how))
      .add("tokens", edit.tokens)
      .add("shape", edit.value.shape)
      .add("numbers", content_hash(std::as_bytes(std::span(edit.value.numbers))));
  return record;
}

/// A model that runs: its files and its stack.
using ModelKey = std::pair<const Checkpoint*, std::string>;

ModelKey key_of_model(const Model& model) {
  return {model.shared_checkpoint().get(), model.stack()};
}

/// Carries the edits in a context.
class EditsWatcher : public PassWatcher {
 public:
  /// The session must outlive this object.
  EditsWatcher(std::vector<EditRecord> records, bool special, const Session& session)
      : records_(std::move(records)), special_(special), session_(session) {}

  /// The edits for a model, whose values from other texts are computed on the first call.
  /// Thread-safe.
  const std::vector<ActivationEdit>& edits_of(const ForwardPass& pass, const Compute& compute) {
    const std::scoped_lock lock(mutex_);
    const auto [place, is_new] = edits_.try_emplace(key_of_model(pass.model()));
    if (!is_new) return place->second;
    try {
      place->second = resolved(pass, compute);
    } catch (...) {
      edits_.erase(place);
      throw;
    }
    return place->second;
  }

  std::string hash(std::span<const Model> models) const {
    Value::List all;
    for (const EditRecord& record : records_) {
      for (const ActivationEdit& edit : record.edits) all.emplace_back(edit_record(edit, true));
      if (!record.edits.empty()) continue;
      Value::List inputs;
      for (const Model& model : models) {
        const RunInput input = input_of(record, model);
        inputs.emplace_back(input.media ? Value(media_hash(std::span(&*input.media, 1)))
                                        : Value(input.tokens));
        if (!input.target.empty()) inputs.emplace_back(input.target);
      }
      all.emplace_back(Record{{"edit", edit_record(record.wanted.edit, false)},
                              {"from_positions", record.wanted.from_positions},
                              {"inputs", std::move(inputs)}});
    }
    return content_hash(record_text({{"edits", std::move(all)}}));
  }

 private:
  RunInput input_of(const EditRecord& record, const Model& model) const {
    RunInput input = source_of(record, model);
    const bool has_target = record.target || !record.target_tokens.empty();
    if (has_target && !is_of_encoder_decoder(model)) {
      refuse_edit(record.wanted.edit,
                  "from_run has a target, but " + verbatim(model.name()) + " has no encoder");
    }
    if (!needs_target(model)) return input;
    input.target = record.target_tokens;
    if (record.target) {
      const Tokenizer tokenizer = tokenizer_of(record, model);
      input.target = decoder_input(model, &tokenizer, *record.target);
    }
    return input;
  }

  RunInput source_of(const EditRecord& record, const Model& model) const {
    if (!record.media.empty()) {
      const Model& reader = reader_of(model);
      if (input_kind(reader) != input_kind_of(record.media)) {
        refuse_edit(record.wanted.edit, "from_run has '" + record.media + "', but " +
                                            verbatim(model.name()) + " takes " +
                                            noun_of(input_kind(reader)));
      }
      auto inputs = media_inputs_in(record.media, record.media_file, session_, reader);
      if (inputs.size() != 1) {
        refuse_edit(record.wanted.edit, "the file of from_run contains " +
                                            std::to_string(inputs.size()) +
                                            " inputs, expected one");
      }
      return {.media = std::move(inputs.front())};
    }
    if (!record.text) return {.tokens = record.tokens};
    return {.tokens = TokenIds(tokenizer_of(record, model).encode(*record.text, special_))};
  }

  static Tokenizer tokenizer_of(const EditRecord& record, const Model& model) {
    auto tokenizer = Tokenizer::find(model.checkpoint().folder());
    if (tokenizer) return std::move(*tokenizer);
    refuse_edit(record.wanted.edit,
                "from_run has a text, but " + verbatim(model.name()) + " has no tokenizer",
                "list token ids with tokens");
  }

  /// All edits in their order. Those of one input take its activations from one run.
  std::vector<ActivationEdit> resolved(const ForwardPass& pass, const Compute& compute) const {
    std::vector<std::vector<ActivationEdit>> of_records(records_.size());
    using Input = std::tuple<std::string, std::string, TokenIds, std::string, TokenIds>;
    std::map<Input, std::vector<std::size_t>> by_input;
    for (std::size_t at = 0; at < records_.size(); ++at) {
      const EditRecord& record = records_[at];
      of_records[at] = record.edits;
      if (!record.edits.empty()) continue;
      by_input[{record.media_file, record.text.value_or(""), record.tokens,
                record.target.value_or(""), record.target_tokens}]
          .push_back(at);
    }
    for (const auto& [input, indices] : by_input) {
      std::vector<RunEdit> wanted;
      for (const std::size_t at : indices) wanted.push_back(records_[at].wanted);
      auto found = edits_from_input(pass, wanted, input_of(records_[indices.front()], pass.model()),
                                    compute);
      for (std::size_t at = 0; at < indices.size(); ++at) {
        of_records[indices[at]] = std::move(found[at]);
      }
    }
    std::vector<ActivationEdit> all;
    for (std::vector<ActivationEdit>& edits : of_records) {
      all.insert(all.end(), std::make_move_iterator(edits.begin()),
                 std::make_move_iterator(edits.end()));
    }
    return all;
  }

  std::vector<EditRecord> records_;
  bool special_;  // whether special tokens are added to texts
  const Session& session_;
  std::mutex mutex_;
  std::map<ModelKey, std::vector<ActivationEdit>> edits_;
};

EditsWatcher* edits_in(std::span<BatchWatcher* const> watchers) {
  for (BatchWatcher* watcher : watchers) {
    if (auto* own = dynamic_cast<EditsWatcher*>(watcher)) return own;
  }
  return nullptr;
}

}  // namespace

Parameter edits_parameter() {
  return {.name = "edits",
          .type = ParameterType::file,
          .group = OptionGroup::input,
          .help = "edit activations while the model runs, as listed in this JSON file",
          .metavariable = "FILE"};
}

EditingContext::EditingContext(const Arguments& arguments, const Session& session,
                               const Context& context)
    : context_(context) {
  if (!arguments.given("edits")) return;
  const std::string file = arguments.text("edits");
  session.files->add_input("edits", file);
  watcher_ = std::make_shared<EditsWatcher>(read_edits(file, session),
                                            adds_special_tokens(arguments), session);
  context_.watchers.push_back(watcher_.get());
}

void add_edits_hash(Record& parameters, const Context& context, std::span<const Model> models) {
  const EditsWatcher* edits = edits_in(context.watchers);
  if (edits != nullptr) parameters.add("edits_hash", edits->hash(models));
}

RunEdits::RunEdits(const ForwardPass& pass, std::span<BatchWatcher* const> watchers,
                   const Compute& compute, ForwardHooks* next, std::optional<std::int64_t> prompt)
    : next_(next) {
  EditsWatcher* own = edits_in(watchers);
  if (own == nullptr) return;
  const std::vector<ActivationEdit>& edits = own->edits_of(pass, compute);
  check_edits(pass, edits);
  edits_ = edits;
  hooks_.emplace(pass, edits, next, prompt);
}

}  // namespace attnscope
