#include "attnscope/features/report/matrix_images.h"

#include "attnscope/base/error.h"
#include "attnscope/base/heads.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/matrix/run.h"
#include "attnscope/features/similarity/measures.h"

namespace attnscope {
namespace {

/// Rows and columns of the image of a weight matrix, and the number of layers shown at each end of
/// the model.
constexpr std::int64_t kImageSide = 64, kImageLayers = 4;
/// Space for the images of cosines in bytes, one byte per cosine.
constexpr std::int64_t kCosineBytes = 300'000;

void add_image(const Model& model, std::int64_t layer, Role role, const Session& session,
               ReportFile& file) {
  const std::string name(role_name(role));
  try {
    file.add_matrix(model.name(), layer, name,
                    extract_matrix(model, {.layer = layer, .role = role}), kImageSide);
  } catch (const Error& error) {
    file.add_left_out({.part = "matrices",
                       .model = model.name(),
                       .why = "no image of " + name + " of layer " + std::to_string(layer) + ": " +
                              error_text(error.parts(), session.spell)});
  }
}

/// Adds the cosines between query rows of each head while there is `room`, in bytes. Skips heads
/// that contain NaN or infinity.
void add_cosines(const Model& model, std::int64_t layer, std::int64_t& room, const Compute& compute,
                 ReportFile& file) {
  const HeadShape& heads = model.dimensions(layer).heads;
  const std::int64_t bytes = heads.head_dim * heads.head_dim;
  if (!model.has(Role::query, layer) || room < bytes) return;
  const auto read = read_matrix(model, layer, Role::query);
  const auto add = [&](const auto& queries, std::int64_t head) {
    const auto rows = head_slice(queries.view(), Role::query, head, heads);
    if (find_not_finite(rows)) return;
    const Matrix<double> cosines = cosine_matrix(rows, compute);
    file.add_cosines(model.name(), layer, "q", head, cosines.view());
  };
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    room -= bytes;
    if (room < 0) return;
    if (!read.skipped.empty()) continue;
    std::visit([&](const auto& queries) { add(queries, head); }, read.values);
  }
}

}  // namespace

void add_matrix_images(std::span<const Model> models, const LayerSelection& layers,
                       const Session& session, ReportFile& file) {
  LentTeam team(session.context);
  for (const Model& model : models) {
    std::int64_t room = kCosineBytes / std::ssize(models);
    const std::int64_t count = model.dimensions().layers;
    for (const std::int64_t layer : layers.resolve(count, model.name())) {
      if (layer >= kImageLayers && layer < count - kImageLayers) continue;
      add_cosines(model, layer, room, team.compute(), file);
      for (const Role role : {Role::query, Role::key, Role::value, Role::output}) {
        if (session.context.stop.stop_requested()) throw Stopped();
        if (model.has(role, layer)) add_image(model, layer, role, session, file);
      }
    }
  }
}

}  // namespace attnscope
