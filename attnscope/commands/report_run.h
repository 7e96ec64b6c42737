// What `report` and `serve` do with models to fill a report file.
#pragma once

#include <functional>
#include <span>

#include "attnscope/commands/report_parts.h"

namespace attnscope {

/// The command `report` that makes a report again, of the arguments that it was given.
Example report_example(const Arguments& report);

/// A file with the facts of the models, and nothing else yet.
ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session);

/// Adds images of the attention matrices of the first and last layers among `layers`, and of the
/// cosines within their heads' queries as far as they fit. Throws Stopped.
void add_images(std::span<const Model> models, const LayerSelection& layers, const Session& session,
                ReportFile& file);

/// Takes the maps (H, T, T) of a layer as they are computed.
using TakeMaps = std::function<void(const Model&, std::int64_t layer, std::span<const float>)>;

/// Models on a text: the rows of the part, tokens, and maps, whole or small as they fit.
struct TextRun {
  const Arguments& report;        // with a text, or token ids; layers and maps may narrow it
  std::span<const Model> models;  // those that it names
  const ReportPart& part;         // the first of text_parts(report)
  TakeMaps take = {};             // gets every map too; may be empty
};

/// Throws Error where a model cannot be run on that text, and Stopped.
void run_text(const TextRun& run, const Session& session, ReportFile& file);

}  // namespace attnscope
