#include "attnscope/interventions/patch_group.h"

#include <algorithm>
#include <limits>

#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

bool any_layer_mixes(const ForwardPass& pass) {
  return std::ranges::any_of(pass.weights().layers,
                             [](const LayerWeights& layer) { return layer.mixer != nullptr; });
}

/// Patches the runs of a group in one direction.
class GroupPatcher {
 public:
  explicit GroupPatcher(const GroupPatch& patch)
      : pass_(patch.pass),
        request_(patch.request),
        group_(patch.group),
        scores_(patch.scores),
        base_(patch.base),
        source_(patch.source),
        compute_(patch.compute) {
    for (const PatchedPart& part : request_.parts) {
      columns_.push_back(columns_of(pass_, request_.layer, part));
    }
    std::int64_t room = 0;
    for (const TokenIds& text : base_.texts) room = std::max(room, std::ssize(text));
    together_ = static_cast<std::size_t>(patched_runs_at_once(pass_, room));
  }

  /// Writes the mean value of each run to put(run, value).
  using Put = std::function<void(const PatchedRun&, double)>;
  void run(const Put& put) {
    if (pass_.may_start_between()) run_layer_alone();
    for (const std::size_t place : last_first()) {
      std::vector<PatchedRun> within, after;
      for (std::size_t prompt = 0; prompt < group_.count; ++prompt) {
        for (std::size_t part = 0; part < request_.parts.size(); ++part) {
          const PatchedRun run{.prompt = prompt, .part = part, .place = place};
          const bool ends_layer = stays_at_token(request_.parts[part].kind);
          if (changes_nothing(run, ends_layer)) {
            put(run, mean_of(base_.values[prompt]));
          } else {
            (ends_layer && pass_.may_start_between() ? after : within).push_back(run);
          }
        }
      }
      run_all(within, request_.layer, slots_within_, put);
      run_all(after, request_.layer + 1, slots_after_, put);
    }
  }

 private:
  /// A cache of a batch, which has the keys and values of a prompt up to some token.
  struct Slot {
    std::size_t prompt = std::numeric_limits<std::size_t>::max();
    std::int64_t intact = 0;
  };
  struct Slots {
    std::vector<KeyValueCache> caches;
    std::vector<Slot> slots;
  };

  std::int64_t rows_at_once() const { return attnscope::rows_at_once(pass_.model()); }

  const Positions& rows_of(const PatchedRun& run) const {
    return request_.places[run.place][group_.first + run.prompt];
  }

  /// The places in an order in which later tokens come first, so that caches stay intact.
  std::vector<std::size_t> last_first() const {
    std::vector<std::size_t> order;
    for (std::size_t place = 0; place < request_.places.size(); ++place) order.push_back(place);
    const auto first_row = [&](std::size_t place) {
      return request_.places[place][group_.first].front();
    };
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return first_row(a) > first_row(b); });
    return order;
  }

  /// Whether both activations are equal, or no prediction that is scored depends on them.
  bool changes_nothing(const PatchedRun& run, bool ends_layer) const {
    const Positions& rows = rows_of(run);
    const Positions& scored = scores_.rows(run.prompt);
    const bool last = ends_layer && request_.layer + 1 == pass_.model().dimensions().layers;
    const bool reaches =
        last ? std::ranges::any_of(
                   scored, [&](std::int64_t row) { return std::ranges::binary_search(rows, row); })
             : scored.back() >= rows.front();
    if (!reaches) return true;
    const PatchedColumns& columns = columns_[run.part];
    const Matrix<float>& own = base_.kept.*columns.matrix;
    const Matrix<float>& other = source_.kept.*columns.matrix;
    const std::int64_t start = group_.starts[run.prompt];
    return std::ranges::all_of(rows, [&](std::int64_t row) {
      const float* values = &own(start + row, columns.first);
      return std::equal(values, values + columns.count, &other(start + row, columns.first));
    });
  }

  /// Copies the patched rows of a run to the matrix of this activation. `first`: the row of the
  /// prompt at row `at` of the matrix.
  void patch(const PatchedRun& run, MatrixView<float> rows, std::int64_t first,
             std::int64_t at) const {
    const PatchedColumns& columns = columns_[run.part];
    const Matrix<float>& other = source_.kept.*columns.matrix;
    for (const std::int64_t row : rows_of(run)) {
      std::copy_n(&other(group_.starts[run.prompt] + row, columns.first), columns.count,
                  &rows(at + row - first, columns.first));
    }
  }

  /// Computes the stream after the layer with each activation that stays at its token patched at
  /// every token. Rows do not depend on each other, so each is that of a patch at its token alone.
  void run_layer_alone() {
    after_.resize(request_.parts.size());
    std::vector<std::size_t> given, projected;
    for (std::size_t part = 0; part < request_.parts.size(); ++part) {
      const PatchedKind kind = request_.parts[part].kind;
      if (stays_at_token(kind)) (kind == PatchedKind::q ? projected : given).push_back(part);
    }
    const auto most =
        static_cast<std::size_t>(std::max<std::int64_t>(1, rows_at_once() / group_.rows));
    for (const std::vector<std::size_t>* parts : {&given, &projected}) {
      for (std::size_t first = 0; first < parts->size(); first += most) {
        run_layer_alone(std::span(*parts).subspan(first, std::min(most, parts->size() - first)),
                        parts == &given);
      }
    }
  }

  /// `given`: the layer starts with its head outputs instead of computing its attention.
  void run_layer_alone(std::span<const std::size_t> parts, bool given) {
    const std::int64_t rows = group_.rows;
    std::vector<TokenIds> inputs;
    Matrix<float> stream(rows * std::ssize(parts), base_.kept.stream.cols());
    Matrix<float> heads(given ? stream.rows() : 0, base_.kept.heads.cols());
    for (std::size_t copy = 0; copy < parts.size(); ++copy) {
      inputs.insert(inputs.end(), base_.texts.begin(), base_.texts.end());
      const std::int64_t at = static_cast<std::int64_t>(copy) * rows;
      copy_into(stream.view().row_block(at, rows), base_.kept.stream.view());
      if (given && heads.cols() > 0) {
        copy_into(heads.view().row_block(at, rows), base_.kept.heads.view());
      }
    }
    const auto patch_copies = [&](ActivationMatrix matrix, MatrixView<float> all) {
      for (std::size_t copy = 0; copy < parts.size(); ++copy) {
        const PatchedColumns& columns = columns_[parts[copy]];
        if (columns.matrix != matrix) continue;
        const std::int64_t at = static_cast<std::int64_t>(copy) * rows;
        copy_into(all.block(at, rows, columns.first, columns.count),
                  (source_.kept.*matrix).view().col_block(columns.first, columns.count));
      }
    };
    patch_copies(&LayerActivations::heads, heads.view());
    ForwardObserver observer;
    observer.wants_parts = [&](std::int64_t layer) { return layer == request_.layer; };
    const auto patcher = [&](ActivationMatrix matrix) {
      return [&patch_copies, matrix](std::int64_t, MatrixView<float> all) {
        patch_copies(matrix, all);
      };
    };
    if (uses(parts, &LayerActivations::mixer))
      observer.on_mixer = patcher(&LayerActivations::mixer);
    if (uses(parts, &LayerActivations::mlp)) observer.on_mlp = patcher(&LayerActivations::mlp);
    ActivationHooks hooks(
        [&](ActivationMatrix matrix, std::int64_t layer) {
          return layer == request_.layer && matrix == &LayerActivations::q && uses(parts, matrix);
        },
        [&](ActivationMatrix matrix, std::int64_t, MatrixView<float> all) {
          patch_copies(matrix, all);
        });
    observer.hooks = &hooks;
    observer.wants_stream = [&](std::int64_t index) { return index == request_.layer + 1; };
    observer.on_stream = [&](std::int64_t, MatrixView<const float> all) {
      for (std::size_t copy = 0; copy < parts.size(); ++copy) {
        after_[parts[copy]] = copied(all.row_block(static_cast<std::int64_t>(copy) * rows, rows));
      }
    };
    observer.end_after_layer = request_.layer;
    PassStart start{.layer = request_.layer, .stream = stream.view()};
    if (given && heads.cols() > 0) start.heads = heads.view();
    pass_.run_from(start, inputs, observer, compute_);
  }

  bool uses(std::span<const std::size_t> parts, ActivationMatrix matrix) const {
    return std::ranges::any_of(parts,
                               [&](std::size_t part) { return columns_[part].matrix == matrix; });
  }

  /// Runs everything from the start of a layer on, as many runs at once as share a batch.
  void run_all(std::span<const PatchedRun> runs, std::int64_t layer, Slots& slots, const Put& put) {
    for (std::size_t first = 0; first < runs.size();) {
      std::size_t count = 0;
      std::int64_t rows = 0;
      for (; first + count < runs.size() && count < together_; ++count) {
        const std::int64_t own = rows_run(runs[first + count]);
        if (count > 0 && rows + own > rows_at_once()) break;
        rows += own;
      }
      run_batch(runs.subspan(first, count), layer, slots, put);
      first += count;
    }
  }

  std::int64_t first_row(const PatchedRun& run) const {
    return base_.caches.empty() ? 0 : rows_of(run).front();
  }
  std::int64_t rows_run(const PatchedRun& run) const {
    return std::ssize(base_.texts[run.prompt]) - first_row(run);
  }

  /// Copies the stream of a run from its first row on, which enters the layer.
  void write_stream(const PatchedRun& run, std::int64_t layer, MatrixView<float> out) const {
    const std::int64_t first = first_row(run), start = group_.starts[run.prompt];
    const bool within = layer == request_.layer;
    const Matrix<float>& base = within ? base_.kept.stream : base_.kept.next_stream;
    copy_into(out, base.view().row_block(start + first, out.rows));
    if (within) {
      if (request_.parts[run.part].kind == PatchedKind::resid_pre) patch(run, out, first, 0);
      return;
    }
    for (const std::int64_t row : rows_of(run)) {
      copy_into(out.row_block(row - first, 1), after_[run.part].view().row_block(start + row, 1));
    }
  }

  void run_batch(std::span<const PatchedRun> runs, std::int64_t layer, Slots& slots,
                 const Put& put) {
    std::vector<TokenIds> inputs;
    std::vector<PromptScores::Run> places;
    std::int64_t rows = 0;
    for (const PatchedRun& run : runs) {
      const TokenIds& text = base_.texts[run.prompt];
      const std::int64_t first = first_row(run);
      inputs.push_back(first == 0
                           ? text
                           : TokenIds(std::vector<std::int64_t>(text.begin() + first, text.end())));
      places.push_back({.prompt = run.prompt, .first_row = first, .at = rows});
      rows += rows_run(run);
    }
    const bool within = layer == request_.layer;
    const auto patches = [&](ActivationMatrix matrix) {
      return within && std::ranges::any_of(runs, [&](const PatchedRun& run) {
               return columns_[run.part].matrix == matrix;
             });
    };
    const auto patcher = [&](ActivationMatrix matrix) {
      return [this, runs, &places, matrix](std::int64_t, MatrixView<float> all) {
        patch_all(matrix, runs, places, all);
      };
    };
    ForwardObserver observer;
    observer.wants_parts = [&](std::int64_t of) { return of == request_.layer; };
    if (patches(&LayerActivations::heads)) observer.on_heads = patcher(&LayerActivations::heads);
    if (patches(&LayerActivations::mixer)) observer.on_mixer = patcher(&LayerActivations::mixer);
    if (patches(&LayerActivations::mlp)) observer.on_mlp = patcher(&LayerActivations::mlp);
    ActivationHooks hooks(
        [&](ActivationMatrix matrix, std::int64_t of) {
          // A run that starts at the layer has the patched stream already.
          const bool done = matrix == &LayerActivations::stream && pass_.may_start_between();
          return of == request_.layer && !done && patches(matrix);
        },
        [&](ActivationMatrix matrix, std::int64_t, MatrixView<float> all) {
          patch_all(matrix, runs, places, all);
        });
    observer.hooks = &hooks;
    Matrix<float> states;
    if (pass_.may_start_between()) {
      Matrix<float> stream(rows, base_.kept.stream.cols());
      for (std::size_t at = 0; at < runs.size(); ++at) {
        write_stream(runs[at], layer, stream.view().row_block(places[at].at, rows_run(runs[at])));
      }
      states = pass_.run_from({.layer = layer, .stream = stream.view()}, inputs, observer, compute_,
                              nullptr, caches_for(runs, layer, slots));
    } else {
      states = pass_.run(inputs, observer, compute_);
    }
    const std::vector<double> values = scores_.of_runs(places, states.view(), base_.values);
    for (std::size_t at = 0; at < runs.size(); ++at) put(runs[at], values[at]);
  }

  void patch_all(ActivationMatrix matrix, std::span<const PatchedRun> runs,
                 std::span<const PromptScores::Run> places, MatrixView<float> all) const {
    for (std::size_t at = 0; at < runs.size(); ++at) {
      if (columns_[runs[at].part].matrix != matrix) continue;
      patch(runs[at], all, places[at].first_row, places[at].at);
    }
  }

  /// Returns one cache per run, with the tokens before its first row.
  std::span<KeyValueCache> caches_for(std::span<const PatchedRun> runs, std::int64_t layer,
                                      Slots& slots) const {
    if (base_.caches.empty()) return {};
    while (slots.caches.size() < runs.size()) {
      slots.caches.emplace_back(pass_.model().spec(), base_.caches.front().room());
      slots.slots.emplace_back();
    }
    run_parts(compute_, runs.size(), [&](std::size_t at) {
      const std::int64_t first = first_row(runs[at]);
      Slot& slot = slots.slots[at];
      if (slot.prompt != runs[at].prompt || slot.intact < first) {
        slots.caches[at].copy_from(base_.caches[runs[at].prompt], layer);
      }
      slots.caches[at].keep(first);
      slot = {.prompt = runs[at].prompt, .intact = first};
    });
    return std::span(slots.caches).first(runs.size());
  }

  const ForwardPass& pass_;
  const PositionPatchRequest& request_;
  const PromptGroup& group_;
  const PromptScores& scores_;
  const GroupRun& base_;
  const GroupRun& source_;
  const Compute& compute_;
  std::vector<PatchedColumns> columns_;  // of each part
  std::vector<Matrix<float>> after_;     // of each part that stays at its token: (rows, D)
  std::size_t together_ = 1;
  Slots slots_within_, slots_after_;
};

}  // namespace

bool starts_at_tokens(const ForwardPass& pass) {
  return pass.may_start_between() && !any_layer_mixes(pass) &&
         layers_elsewhere(pass.model()) == nullptr;
}

std::int64_t patched_runs_at_once(const ForwardPass& pass, std::int64_t room) {
  const std::int64_t rows = rows_at_once(pass.model());
  if (!starts_at_tokens(pass)) return rows;
  const std::uint64_t own =
      std::max<std::uint64_t>(1, KeyValueCache::bytes(pass.model().spec(), room));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kCacheBytes / own), 1, rows);
}

void patch_group(const GroupPatch& patch,
                 const std::function<void(const PatchedRun&, double)>& put) {
  GroupPatcher(patch).run(put);
}

}  // namespace attnscope
