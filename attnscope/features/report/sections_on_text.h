// The sections of one model on its text, image or audio.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/features/report/inputs.h"
#include "attnscope/features/report/routing_of_text.h"
#include "attnscope/features/report/sections.h"
#include "attnscope/features/report/shown_maps.h"

namespace attnscope {

/// Receives the attention maps (H, T, S) of a layer as they are computed.
using TakeMaps = std::function<void(const Model&, std::int64_t layer, const MapSize& size,
                                    std::span<const float>)>;

/// Requests the maps of the first sequence of the text, which must outlive the request.
SavedMapsRequest saved_maps_request(const ModelText& text);

class TextRun {
 public:
  /// The session must outlive it.
  TextRun(ModelText text, const Session& session);

  struct Options {
    std::size_t models = 1;  // number of models that share the space for maps
    TakeMaps take = {};      // also receives every map; may be empty
  };
  /// Adds the rows of `attention`, the tokens or patches, and the maps at full or reduced size.
  /// Throws Error if the model cannot be run on the text, and Stopped.
  void add_rows_and_maps(const Options& options, ReportFile& file);

  /// Adds the rows of `attention` without the first token, or the reason why they are missing.
  void add_without_first(ReportFile& file) const;

  /// The model with the beginning of its text. Losses and text correlations need fewer tokens than
  /// attention statistics.
  ReportModel with_few_tokens() const;
  /// The same model with the text for text correlations. With target lines, only the windows of the
  /// text file are used.
  ReportModel for_names() const;
  /// Whether the text has enough distinct tokens for text_correlations().
  bool has_text_correlations() const;

  /// Adds the logit lens on the beginning of the text, or returns and adds the reason why it is
  /// missing. Does nothing if the model does not predict tokens.
  std::optional<Error> add_lens(ReportFile& file) const;

  /// Likewise adds ablation effects: of all components, or only if that takes seconds.
  enum class Effort { cheap, any };
  std::optional<Error> add_ablations(Effort effort, ReportFile& file) const;
  /// Likewise adds effects of heads that are ablated together.
  std::optional<Error> add_head_sets(ReportFile& file) const;

  /// Adds the expert routing of the text for MoE models, or the reason why it is missing. After
  /// add_rows_and_maps() it does not run the model again.
  void add_routing(ReportFile& file) const;

 private:
  void add_rows(const ReportPart& part, const Context& context, RowSink& sink) const;
  void add_axes(ReportFile& file) const;
  void add_maps(const Options& options, SavedMaps& maps, std::vector<HeadIndex> notable,
                ReportFile& file) const;
  bool predicts_tokens() const;
  bool has_target() const;  // for an encoder-decoder
  std::string whole_map_line(const HeadIndex& head) const;

  ModelText text_;
  const Session& session_;
  ReportPart part_;
  SavedRouting routing_;
};

}  // namespace attnscope
