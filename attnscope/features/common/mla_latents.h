// W_Q, W_K and W_V of MLA models, which store low-rank factors and a latent instead: products of
// two factors. Definitions: docs/metrics.md, "Latents".
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

/// W = up · down. The norm of a latent divides each token by its RMS. Here it divides by a
/// constant: the mean RMS on a text, or the RMS for white input after the norm before attention,
/// ‖W_a diag(gain)‖_F / √rank.
struct MlaFactors {
  Matrix<double> up;           // (rows of the role, m)
  Matrix<double> down;         // (m, D): rows of the latent, then rows of the shared key
  Matrix<double> bias_column;  // (m, 1), bias of `down`; zeros without a bias
  double rms = 0;              // the constant RMS
};

/// Position of the key rows that all heads share: once after the rows of all heads, or at the end
/// of each head. Values, if requested together with keys, follow.
enum class SharedRows { once, in_every_head };

/// `role`: q, k, v or kv, for a model that does not store it. `rms`: RMS of the latents on a text;
/// empty: for white input.
Read<MlaFactors> read_mla(const Model& model, std::int64_t layer, Role role, SharedRows shared,
                          const std::optional<LatentRms>& rms = {});

/// The product, (rows of the role, D).
Matrix<double> product_of(const MlaFactors& factors, const Compute& compute = {});

/// Expresses `down` in an orthonormal basis of its row space: (m, min(m, D)), lower triangular.
/// This preserves the singular values of the product and of every product with it.
void narrow(MlaFactors& factors, const Compute& compute);

/// Adds the RMS of the latents to each row.
void add_latent_rms(std::vector<Outcome>& outcomes, const LatentRms& divided_by);

/// Note for the user about a model whose matrices are such products.
std::string mla_note(const Model& model, bool on_a_text);

/// Inner dimension of the factors, including the shared key if the role may have one.
std::int64_t latent_inner(const Dimensions& dimensions, Role role);

/// Memory in bytes that read_mla() and product_of() need together. `cols`: number of columns of the
/// product, D, or latent_inner() after narrow().
std::uint64_t latent_bytes(const Dimensions& dimensions, Role role, std::int64_t cols);

// Optional text for commands that analyze weights: measures the RMS of latents on it.

struct MlaText {
  std::vector<std::vector<TokenIds>> sequences;  // per model, all of the same length
  Record parameters;                             // report parameters that describe their source
};

/// Throws Error(usage) if none of the models is an MLA model: other weights do not depend on a
/// text.
void check_mla_ranks(std::span<const Model> models);

/// Adds the source of the text to a report's parameters, and its hash to those of the items.
void add_text_parameters(Record& report, Record& of_items, const std::optional<MlaText>& text);

/// Runs the MLA models on the text and sets the mean divisor of each latent's norm, √(mean of
/// squares + ε), in the items of each layer. Does nothing without a text. Adds a note if the text
/// is longer than a model's context.
void measure_latents(Plan& plan, std::span<const Model> models, const std::optional<MlaText>& text,
                     const Context& context, RowSink& sink);

}  // namespace attnscope
