// What `report` and `serve` do with models to fill a report file.
#pragma once

#include <functional>
#include <span>

#include "attnscope/commands/report/report_parts.h"

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

/// One model on a text: the rows of `attention`, tokens, and maps, whole or small as they fit.
struct TextRun {
  const ReportModel& model;  // its report names layers, and may name a head
  Example text;              // as arguments of `attention`
  std::string note = {};     // what a reader should know of it; may be empty
  std::size_t models = 1;    // that share the room for maps
  TakeMaps take = {};        // gets every map too; may be empty
};

/// Throws Error where the model cannot be run on that text, and Stopped.
void run_text(const TextRun& run, const Session& session, ReportFile& file);

/// The rows of `attention` without key 0, or why the file lacks them.
void fill_without_first(const ReportModel& model, const Example& text, const Session& session,
                        ReportFile& file);

/// Says that the file lacks a part of the model. `command`: brings it; empty: none does.
void leave_out(const std::string& part, const ReportModel& model, const Error& error,
               const std::string& command, const Session& session, ReportFile& file);

/// Says that the file lacks what a text gives, with the commands that run the model on one that it
/// can be run on.
void leave_out_text(const ReportModel& model, const Error& error, const Session& session,
                    ReportFile& file);

}  // namespace attnscope
