// What stands for W_Q, W_K and W_V where a model stores latents in their place: products of two
// factors. Definitions: docs/metrics.md, "Latents".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/engine/context.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/runner.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// W = up · down. A latent's norm divides each token by its own rms. Here it divides by one number:
/// its mean on a text; or the rms for an input of independent numbers that the norm before the
/// attention gave, ‖W_a diag(gain)‖_F / √rank.
struct MlaFactors {
  Matrix<double> up;           // (rows of the role, m)
  Matrix<double> down;         // (m, D): the latent's rows; then those of the key of all heads
  Matrix<double> bias_column;  // (m, 1) of `down`; zeros where there is none
  double rms = 0;              // that number
};

/// Whether the key rows that all heads share stand once, after those of all heads, or at the end of
/// each head's own. Values, where asked for with keys, follow.
enum class SharedRows { once, in_every_head };

/// `role`: q, k, v, or kv, of a model where it is not stored. `rms`: on a text; none: on white
/// input.
Read<MlaFactors> read_mla(const Model& model, std::int64_t layer, Role role, SharedRows shared,
                          const std::optional<LatentRms>& rms = {});

/// (rows of the role, D).
Matrix<double> product_of(const MlaFactors& factors, const Compute& compute = {});

/// Puts `down` into coordinates of the space that its rows span: (m, min(m, D)), lower triangular.
/// The singular values of the product stay, and so do those of every product with it.
void narrow(MlaFactors& factors, const Compute& compute);

/// Says in each row what its latents were divided by.
void add_latent_rms(std::vector<Outcome>& outcomes, const LatentRms& divided_by);

/// What to say of a model whose matrices are such products.
std::string mla_note(const Model& model, bool on_a_text);

/// The dimension that the factors share, with that of the shared key where there may be one.
std::int64_t latent_inner(const Dimensions& dimensions, Role role);

/// What read_mla() and product_of() hold at once, in bytes. `cols`: of the product, D or, of
/// narrow factors, latent_inner().
std::uint64_t latent_bytes(const Dimensions& dimensions, Role role, std::int64_t cols);

// A text for commands that read weights: what the norms of latents divide by on it.

struct MlaText {
  std::vector<std::vector<TokenIds>> sequences;  // of each model, all of one length
  Record parameters;                             // what the report says of them
};

/// Throws Error(usage) where none of the models has latents: their weights depend on no text.
void check_mla_ranks(std::span<const Model> models);

/// Adds to a report's parameters where the text comes from, and to those of its items which it is.
void add_text_parameters(Record& report, Record& of_items, const std::optional<MlaText>& text);

/// Runs the models that have latents, and gives the plan's items of each layer the mean over all
/// tokens of what its norms divided by, √(mean of squares + ε). Does nothing without a text. Adds a
/// note if the text is longer than a model's context.
void measure_latents(Plan& plan, std::span<const Model> models, const std::optional<MlaText>& text,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
