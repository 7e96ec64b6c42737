#include "attnscope/features/plan/methods/methods.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/features/common/resume_files.h"

namespace attnscope {

// One function per method, NAME_method() in the file NAME.cpp.
#define ATTNSCOPE_METHODS(METHOD) \
  METHOD(depth)                   \
  METHOD(mlp)                     \
  METHOD(hidden_size)             \
  METHOD(head_dim)                \
  METHOD(kv_heads)                \
  METHOD(heads)                   \
  METHOD(mla)                     \
  METHOD(experts)                 \
  METHOD(low_rank)

#define ATTNSCOPE_DECLARE(name) Method name##_method();
ATTNSCOPE_METHODS(ATTNSCOPE_DECLARE)
#undef ATTNSCOPE_DECLARE

std::span<const Method> methods() {
#define ATTNSCOPE_CALL(name) name##_method(),
  static const std::array all = {ATTNSCOPE_METHODS(ATTNSCOPE_CALL)};
#undef ATTNSCOPE_CALL
  return all;
}
#undef ATTNSCOPE_METHODS

Method find_method(std::string_view name) {
  const auto found = std::ranges::find(methods(), name, &MethodInfo::name);
  return found == methods().end() ? nullptr : *found;
}

namespace {

/// Returns why no method supports the model; empty if some may.
std::string why_never(const ModelSpec& spec) {
  for (const WeightRule& rule : spec.architecture.weights) {
    if (rule.splits_heads) return "its files store heads on an axis of their own";
  }
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    if (own.block) return "several layers share the weights of attention and MLP";
    if (own.experts && !own.experts->latent_down.empty()) {
      return "its experts read a latent projection of the residual stream";
    }
    if (own.rounds_inputs) return "the inputs of its matrices are rounded";
    if (own.attention_heads || own.mlp_hidden) {
      return "norms read all head outputs or all MLP neurons together";
    }
    if (spec.dimensions.skips(layer)) return "texts skip the layers that attend to images";
  }
  return "";
}

}  // namespace

std::string why_not(const Model& model, Method method) {
  const ModelSpec& spec = model.spec();
  if (!spec.not_run.empty()) return spec.not_run;
  if (spec.layers.empty()) return "the forward pass of this architecture is not supported";
  if (std::string never = why_never(spec); !never.empty()) return never;
  return method->why_not(model);
}

std::vector<Method> possible_methods(const Model& model) {
  std::vector<Method> out;
  for (const Method method : methods()) {
    if (why_not(model, method).empty()) out.push_back(method);
  }
  return out;
}

Choice choose(const Model& model, Method method, std::int64_t size, const TextStatistics& text,
              const Compute& compute) {
  if (method->choose == nullptr) return {.method = method, .size = size};
  return method->choose(model, size, text, compute);
}

ModelSize size_after(const Model& model, const ModelSize& before, const Choice& choice) {
  return choice.method->size_after(model, before, choice);
}

std::int64_t whole_size(const Dimensions& dimensions, Method method) {
  return method->whole == nullptr ? 0 : method->whole(dimensions);
}

std::string choice_words(const Choice& choice, std::int64_t whole) {
  if (choice.method->words != nullptr) return choice.method->words(choice, whole);
  return std::to_string(whole) + " → " + std::to_string(choice.size);
}

void for_layers(ChangedModel& changed, const TextStatistics& text, const Compute& compute,
                const std::function<void(std::int64_t layer)>& make) {
  const std::int64_t layers = changed.source().dimensions().layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    compute.check_stop();
    if (text.finished == nullptr) {
      make(layer);
    } else {
      text.finished->put(changed, layer, [&] { make(layer); });
    }
  }
}

void for_matrices(const Model& model, std::int64_t layer, std::span<const Role> roles,
                  const TextStatistics& text, const Compute& compute, const OfMatrix& of_matrix) {
  const auto work_bytes = [&](std::size_t at) {
    const TensorMatrix& matrix = model.weight(layer, roles[at]).matrix;
    return output_directions_bytes(matrix.rows, matrix.cols);
  };
  for (std::size_t first = 0; first < roles.size();) {
    std::uint64_t bytes = work_bytes(first);
    std::size_t end = first + 1;
    for (; end < roles.size(); ++end) {
      bytes += work_bytes(end);
      if (bytes > text.work_bytes) break;
    }
    std::vector<MeanMoments> moments;
    for (std::size_t at = first; at < end; ++at) {
      moments.push_back(text.moments(layer, roles[at]).mean(text.ridge));
    }
    // Eigenvectors use one thread, so several matrices run in parallel.
    const Compute alone{.kernels = compute.kernels, .stop = compute.stop};
    run_parts(compute, end - first, [&](std::size_t at) {
      compute.check_stop();
      of_matrix(first + at, canonical_matrix(model, layer, roles[first + at]), moments[at],
                end == first + 1 ? compute : alone);
    });
    first = end;
  }
}

std::vector<std::int64_t> largest(const std::vector<double>& scores, std::int64_t count) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

void check_numbers(const std::vector<std::int64_t>& kept, std::int64_t count, std::int64_t limit) {
  const bool ascends =
      std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end();
  if (std::ssize(kept) == count && ascends && !kept.empty() && kept.front() >= 0 &&
      kept.back() < limit) {
    return;
  }
  throw Error(
      ErrorKind::format, "kept",
      "expected " + std::to_string(count) + " different numbers below " + std::to_string(limit));
}

void check_lists(const Choice& choice, std::int64_t lists, std::int64_t count, std::int64_t limit) {
  if (std::ssize(choice.kept) != lists) {
    throw Error(ErrorKind::format, "kept", "expected one list per layer");
  }
  for (const auto& list : choice.kept) check_numbers(list, count, limit);
}

void keep_weight_rows(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                      const std::vector<std::int64_t>& kept) {
  out.weights.insert_or_assign(role, rows_of(canonical_matrix(model, layer, role).view(), kept));
  const std::vector<double> bias = canonical_bias(model, layer, role);
  if (bias.empty()) return;
  std::vector<double> own;
  for (const std::int64_t row : kept) own.push_back(bias[static_cast<std::size_t>(row)]);
  out.biases.insert_or_assign(role, std::move(own));
}

Matrix<double> zero_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

std::vector<std::int64_t> descending_sizes(std::int64_t whole, std::int64_t step) {
  std::vector<std::int64_t> out;
  for (std::int64_t size = whole; size >= 1; --size) {
    if (size == whole || size % step == 0) out.push_back(size);
  }
  return out;
}

std::int64_t layer_of_tensor(const Model& model, const std::string& name) {
  const std::string& pattern = model.spec().architecture.weights.front().tensor;
  const std::string start = model.prefix() + pattern.substr(0, pattern.find("{layer}"));
  if (!name.starts_with(start)) return -1;
  // T5 stores its relative position biases in the first layer, but they apply to all layers.
  const auto& buckets = model.spec().architecture.scores.buckets;
  if (buckets && name == model.prefix() + buckets->table) return -1;
  std::size_t at = start.size();
  std::int64_t layer = 0;
  constexpr std::size_t kDigits = 6;
  for (; at < name.size() && at < start.size() + kDigits && name[at] >= '0' && name[at] <= '9';
       ++at) {
    layer = 10 * layer + (name[at] - '0');
  }
  return at > start.size() && at < name.size() && name[at] == '.' ? layer : -1;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace attnscope
