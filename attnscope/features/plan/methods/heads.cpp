// Neurons of MLPs, and heads, removed; what reads them is fitted anew to those that stay.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/neuron_removal.h"

namespace attnscope {
namespace {

std::vector<double> picked(const std::vector<double>& values,
                           const std::vector<std::int64_t>& kept) {
  std::vector<double> out;
  for (const std::int64_t at : kept) out.push_back(values[static_cast<std::size_t>(at)]);
  return out;
}

/// Rows of a matrix, and the elements of its bias.
void keep_rows(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
               const std::vector<std::int64_t>& kept) {
  out.weights.insert_or_assign(role, rows_of(canonical_matrix(model, layer, role).view(), kept));
  const std::vector<double> bias = canonical_bias(model, layer, role);
  if (!bias.empty()) out.biases.insert_or_assign(role, picked(bias, kept));
}

/// The elements of these heads, `size` each.
std::vector<std::int64_t> elements_of(const std::vector<std::int64_t>& heads, std::int64_t size) {
  std::vector<std::int64_t> out;
  for (const std::int64_t head : heads) {
    for (std::int64_t at = 0; at < size; ++at) out.push_back(head * size + at);
  }
  return out;
}

/// E‖W_O,h z_h‖² of every head.
std::vector<double> contributions(const Model& model, std::int64_t layer,
                                  const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const Matrix<double> output = canonical_matrix(model, layer, Role::output);
  const Matrix<double> moments = text.moments(layer, Role::output).mean_second();
  std::vector<double> out;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const std::int64_t first = head * heads.value_dim;
    out.push_back(output_energy(
        output.view().col_block(first, heads.value_dim),
        moments.view().block(first, heads.value_dim, first, heads.value_dim), compute));
  }
  return out;
}

/// Of every group of heads with one key head as many as of the others; where each has its own, any.
std::vector<std::int64_t> kept_heads(const std::vector<double>& contribution,
                                     const HeadShape& heads, std::int64_t size) {
  const std::int64_t groups = heads.group_size() > 1 ? heads.kv_heads : 1;
  const std::int64_t of_group = heads.heads / groups;
  std::vector<std::int64_t> kept;
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto begin = contribution.begin() + group * of_group;
    for (const std::int64_t at : largest({begin, begin + of_group}, size / groups)) {
      kept.push_back(group * of_group + at);
    }
  }
  return kept;
}

/// Rotary pairs with the largest Σ E|k|² E|q|² over layers and heads, the same for all.
std::vector<std::int64_t> kept_pairs(const Model& model, std::int64_t size,
                                     const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t pairs = heads.head_dim / 2;
  std::vector<double> energy(static_cast<std::size_t>(pairs), 0.0);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const Matrix<double> moments = text.moments(layer, Role::query).mean_second_with_one();
    const auto energies = [&](Role role) {
      const Matrix<double> matrix = with_bias_column(model, layer, role);
      const Matrix<double> read = product(matrix.view(), moments.view(), compute);
      std::vector<double> out(static_cast<std::size_t>(matrix.rows()), 0.0);
      for (std::int64_t row = 0; row < matrix.rows(); ++row) {
        for (std::int64_t col = 0; col < matrix.cols(); ++col) {
          out[static_cast<std::size_t>(row)] += read(row, col) * matrix(row, col);
        }
      }
      return out;
    };
    const std::vector<double> query = energies(Role::query), key = energies(Role::key);
    const auto of_pair = [&](const std::vector<double>& of_rows, std::int64_t head,
                             std::int64_t pair) {
      const std::int64_t first = head * heads.head_dim + pair;
      return of_rows[static_cast<std::size_t>(first)] +
             of_rows[static_cast<std::size_t>(first + pairs)];
    };
    for (std::int64_t head = 0; head < heads.heads; ++head) {
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        energy[static_cast<std::size_t>(pair)] +=
            of_pair(query, head, pair) * of_pair(key, heads.kv_head(head), pair);
      }
    }
  }
  return largest(energy, size / 2);
}

/// Throws unless every list names numbers below `limit`, ascending, `size` of them.
void check_kept(const Choice& choice, std::int64_t lists, std::int64_t size, std::int64_t limit) {
  if (std::ssize(choice.kept) != lists) {
    throw Error(ErrorKind::format, "kept", "not one list for each layer");
  }
  for (const auto& list : choice.kept) check_numbers(list, size, limit);
}

}  // namespace

Choice choose(const Model& model, Form form, std::int64_t size, const TextStatistics& text,
              const Compute& compute) {
  Choice choice{.form = form, .size = size};
  if (form == Form::head_width) {
    choice.kept = {kept_pairs(model, size, text, compute)};
    return choice;
  }
  if (form == Form::experts) choice.kept = most_used_experts(model, size, text);
  if (form == Form::width) {
    return choice_of_width(
        model, size, neurons_to_remove(model, model.dimensions().mlp_width - size, text, compute));
  }
  if (form != Form::heads) return choice;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    compute.check_stop();
    choice.kept.push_back(
        kept_heads(contributions(model, layer, text, compute), model.dimensions().heads, size));
  }
  return choice;
}

std::vector<std::vector<std::int64_t>> neurons_to_remove(const Model& model, std::int64_t count,
                                                         const TextStatistics& text,
                                                         const Compute& compute) {
  std::vector<std::vector<std::int64_t>> out;
  // One removal needs the one before it: threads have layers of their own, as many as there is
  // memory for.
  const auto at_once = static_cast<std::int64_t>(std::max<std::uint64_t>(
      1, text.work_bytes / neurons_bytes(model.dimensions().mlp_width, model.dimensions().width)));
  std::mutex one_asks;
  const auto add_stack = [&](const Model& stack, const auto& moments_of) {
    const std::int64_t layers = stack.dimensions().layers;
    for (std::int64_t first = 0; first < layers; first += at_once) {
      std::vector<std::vector<std::int64_t>> own(
          static_cast<std::size_t>(std::min(at_once, layers - first)));
      run_parts(compute, own.size(), [&](std::size_t part) {
        const std::int64_t layer = first + static_cast<std::int64_t>(part);
        const Matrix<double> down = canonical_matrix(stack, layer, Role::down);
        std::unique_lock lock(one_asks);
        Matrix<double> moments = moments_of(layer, Role::down).mean_second();
        lock.unlock();
        own[part] = neurons_to_remove(down.view(), std::move(moments), count, compute);
      });
      out.insert(out.end(), own.begin(), own.end());
    }
  };
  add_stack(model, text.moments);
  const Model* other = stack_of_same_width(model);
  if (other != nullptr) add_stack(*other, text.moments_beside);
  return out;
}

Choice choice_of_width(const Model& model, std::int64_t size,
                       std::span<const std::vector<std::int64_t>> removed) {
  const std::int64_t width = model.dimensions().mlp_width;
  Choice choice{.form = Form::width, .size = size};
  for (const std::vector<std::int64_t>& order : removed) {
    std::vector<bool> goes(static_cast<std::size_t>(width), false);
    for (std::int64_t at = 0; at < width - size; ++at) {
      goes[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])] = true;
    }
    std::vector<std::int64_t>& kept = choice.kept.emplace_back();
    for (std::int64_t neuron = 0; neuron < width; ++neuron) {
      if (!goes[static_cast<std::size_t>(neuron)]) kept.push_back(neuron);
    }
  }
  return choice;
}

ChangedModel with_width(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  check_kept(choice, mlp_count(model), choice.size, model.dimensions().mlp_width);
  const auto narrow = [&](ChangedModel& changed, std::int64_t first_list, const auto& moments_of) {
    const Model& stack = changed.source();
    for_layers(changed, text, compute, [&](std::int64_t layer) {
      const auto& kept = choice.kept[static_cast<std::size_t>(first_list + layer)];
      LayerMatrices own;
      for (const Role role : {Role::gate, Role::up}) {
        if (stack.weight(layer, role).tensor != nullptr) keep_rows(own, stack, layer, role, kept);
      }
      own.weights.emplace(Role::down,
                          refitted(canonical_matrix(stack, layer, Role::down).view(),
                                   moments_of(layer, Role::down).mean(), kept, compute));
      changed.set_layer(layer, own);
    });
  };
  ChangedModel changed(model, text.dtype);
  changed.set_config(changed.key_of(model.spec().architecture.keys.mlp_width), choice.size);
  narrow(changed, 0, text.moments);
  if (const Model* other = stack_of_same_width(model)) {
    ChangedModel beside(*other, text.dtype);
    if (text.finished != nullptr) text.finished->begin_next();
    narrow(beside, model.dimensions().layers, text.moments_beside);
    changed.take(beside);
  }
  return changed;
}

ChangedModel with_heads(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  check_kept(choice, dimensions.layers, choice.size, heads.heads);
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  const bool alone = heads.group_size() == 1;  // every head has keys and values of its own
  changed.set_config(changed.key_of(keys.heads), choice.size);
  changed.set_config(changed.key_of(keys.head_dim), heads.head_dim);
  changed.set_config(changed.key_of(keys.kv_heads), alone ? choice.size : heads.kv_heads);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    const std::vector<std::int64_t>& kept = choice.kept[static_cast<std::size_t>(layer)];
    LayerMatrices own;
    keep_rows(own, model, layer, Role::query, elements_of(kept, heads.head_dim));
    if (alone) {
      keep_rows(own, model, layer, Role::key, elements_of(kept, heads.head_dim));
      keep_rows(own, model, layer, Role::value, elements_of(kept, heads.value_dim));
    }
    own.weights.emplace(Role::output, refitted(canonical_matrix(model, layer, Role::output).view(),
                                               text.moments(layer, Role::output).mean(),
                                               elements_of(kept, heads.value_dim), compute));
    changed.set_layer(layer, own);
  });
  return changed;
}

ChangedModel with_head_width(const Model& model, const Choice& choice, const TextStatistics& text,
                             const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t pairs = heads.head_dim / 2;
  check_kept(choice, 1, choice.size / 2, pairs);
  std::vector<std::int64_t> elements = choice.kept.front();
  for (const std::int64_t pair : choice.kept.front()) elements.push_back(pair + pairs);
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  changed.set_config(changed.key_of(keys.head_dim), choice.size);
  changed.set_config(changed.key_of(keys.kv_heads), heads.kv_heads);
  const RopeFrequencies turns = frequencies_of(model);
  std::vector<double> radians;
  for (const std::int64_t pair : choice.kept.front()) {
    radians.push_back(static_cast<double>(turns.radians_per_token[static_cast<std::size_t>(pair)]));
  }
  set_frequencies(changed, radians, turns.gain, choice.size);
  const auto rows_of_heads = [&](std::int64_t count) {
    std::vector<std::int64_t> rows;
    for (std::int64_t head = 0; head < count; ++head) {
      for (const std::int64_t element : elements) rows.push_back(head * heads.head_dim + element);
    }
    return rows;
  };
  // Scores are divided by the root of the head's width.
  const double scale =
      std::sqrt(static_cast<double>(choice.size) / static_cast<double>(heads.head_dim));
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    LayerMatrices own;
    keep_rows(own, model, layer, Role::query, rows_of_heads(heads.heads));
    keep_rows(own, model, layer, Role::key, rows_of_heads(heads.kv_heads));
    Matrix<double>& query = own.weights.at(Role::query);
    for (std::int64_t at = 0; at < query.rows() * query.cols(); ++at) query.data()[at] *= scale;
    const auto bias = own.biases.find(Role::query);
    if (bias != own.biases.end()) {
      for (double& value : bias->second) value *= scale;
    }
    narrow_values(own, model, layer, /*merged=*/1, choice.size, text, compute);
    changed.set_layer(layer, own);
  });
  return changed;
}

}  // namespace attnscope
