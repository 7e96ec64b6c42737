// One model of a report on its text, image or sound.
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

/// Takes the maps (H, T, S) of a layer as they are computed.
using TakeMaps = std::function<void(const Model&, std::int64_t layer, const MapSize& size,
                                    std::span<const float>)>;

/// The maps of the model on the first sequence of the text, which must outlive what is returned.
SavedMapsRequest saved_maps_request(const ModelText& text);

class TextRun {
 public:
  /// The session must outlive it.
  TextRun(ModelText text, const Session& session);

  struct Options {
    std::size_t models = 1;  // that share the room for maps
    TakeMaps take = {};      // gets every map too; may be empty
  };
  /// The rows of `attention`, what its maps are of, and those, whole or small as they fit. Throws
  /// Error where the model cannot be run on the text, and Stopped.
  void add_rows_and_maps(const Options& options, ReportFile& file);

  /// The rows of `attention` without key 0, or why the file lacks them.
  void add_without_first(ReportFile& file) const;

  /// The model with the beginning of its text: losses, and whether names hold, are said well enough
  /// by fewer tokens than maps are.
  ReportModel with_few_tokens() const;
  /// That with the text on which names of directions are tried: of lines with targets the text file
  /// alone, whose windows they are tried on.
  ReportModel for_names() const;
  /// Whether the text has enough kinds of tokens to see how far names hold: see
  /// text_correlations().
  bool has_text_correlations() const;

  /// What each layer would foretell on the beginning of the text, or why the file lacks it, which
  /// is returned too. Nothing where the model does not continue what it is run on.
  std::optional<Error> add_lens(ReportFile& file) const;

  /// Likewise what the parts of the model are worth there: all of them, or those that take seconds.
  enum class Effort { cheap, any };
  std::optional<Error> add_ablations(Effort effort, ReportFile& file) const;

  /// Where routers send the text, of a model with experts, or why the file lacks it. After the rows
  /// and maps it runs the model no second time.
  void add_routing(ReportFile& file) const;

 private:
  void add_rows(const ReportPart& part, const Context& context, RowSink& sink) const;
  void add_axes(ReportFile& file) const;
  void add_maps(const Options& options, SavedMaps& maps, std::vector<HeadIndex> notable,
                ReportFile& file) const;
  bool predicts_tokens() const;
  bool has_target() const;  // of an encoder-decoder
  std::string whole_map_line(const HeadIndex& head) const;

  ModelText text_;
  const Session& session_;
  ReportPart part_;
  SavedRouting routing_;
};

}  // namespace attnscope
