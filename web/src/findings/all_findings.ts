// All kinds of sentences, and those that a model deserves.
import type { Reading } from "../shaping/reading";
import { attention_rank_by_depth } from "./attention_rank_by_depth";
import { collapsed_layers } from "./collapsed_layers";
import { composition } from "./composition";
import { copying_heads } from "./copying_heads";
import { cross_attention } from "./cross_attention";
import { dead_experts } from "./dead_experts";
import { dead_heads } from "./dead_heads";
import { duplicate_heads } from "./duplicate_heads";
import { similar_experts } from "./similar_experts";
import { experts_shared_subspace } from "./experts_shared_subspace";
import { low_rank_matrix } from "./low_rank_matrix";
import type { Finding, Kind, KindName } from "./finding";
import { heavy_tails } from "./heavy_tails";
import { identity_component } from "./identity_component";
import { induction_heads } from "./induction_heads";
import { kv_latent } from "./kv_latent";
import { massive_activations } from "./massive_activations";
import { important_head } from "./important_head";
import { matrix_like_random } from "./matrix_like_random";
import { model_like_random } from "./model_like_random";
import { critical_layer } from "./critical_layer";
import { outlier_dimensions } from "./outlier_dimensions";
import { previous_token_heads } from "./previous_token_heads";
import { attended_token_effect } from "./attended_token_effect";
import { overlapping_heads } from "./overlapping_heads";
import { attention_sink_heads } from "./attention_sink_heads";
import { small_adapter } from "./small_adapter";
import { compressed_model } from "./compressed_model";
import { symmetric_heads } from "./symmetric_heads";
import { weight_rank_by_depth } from "./weight_rank_by_depth";
import { zero_heads, zero_matrices } from "./zero_matrices";

/**
 * What parts of the model do to its predictions of the text, each with its effect in nats. The effect of an ablation is the change of the
 * mean loss. A logit is a log-odds: a head that adds δ to a token's logit changes the log of its probability by at most δ nats.
 */
const kEffects = {
  matters: important_head,
  cross_attention,
  raises: attended_token_effect,
  needed_layer: critical_layer,
} satisfies Partial<Record<KindName, Kind>>;

/** What was measured while the model ran. */
const kOfRuns = {
  attention_depth: attention_rank_by_depth,
  collapsed: collapsed_layers,
  induction: induction_heads,
  previous_token: previous_token_heads,
  sink: attention_sink_heads,
  dead_heads,
  massive_activations,
  outlier_dimensions,
  dead_experts,
  smaller_model: compressed_model,
} satisfies Partial<Record<KindName, Kind>>;

const kOfWeights = {
  zero_matrices,
  fewest_directions: low_rank_matrix,
  matrix_like_random,
  weights_depth: weight_rank_by_depth,
  latent: kv_latent,
  heavy_tails,
  expert_twins: similar_experts,
  experts_one_space: experts_shared_subspace,
  small_adapter,
} satisfies Partial<Record<KindName, Kind>>;

/**
 * Of heads, from the weights alone: what they say of a head does not tell whether the head matters, so none comes first where there is
 * another.
 */
export const kOfHeadsWeights = {
  duplicate_heads,
  shared_space: overlapping_heads,
  copying: copying_heads,
  symmetric: symmetric_heads,
  identity_part: identity_component,
  composition,
  zero_heads,
} satisfies Partial<Record<KindName, Kind>>;

/** All of them by name; `model_like_random` is asked only where none of these has a word. */
export const kKinds: Readonly<Record<Exclude<KindName, "model_like_random">, Kind>> = {
  ...kEffects,
  ...kOfRuns,
  ...kOfWeights,
  ...kOfHeadsWeights,
};

const kMost = 6;

/**
 * At most six: measured effects first, the largest first, then what else was measured while the model ran, then statistics of weights, both
 * furthest from the null first. There are fewer kinds of effects than places, so that none is ever left out. If nothing stands out in a
 * model, just that.
 */
export function findings(reading: Reading): Finding[] {
  const said = (kinds: Readonly<Record<string, Kind>>) => Object.values(kinds).flatMap((kind) => kind(reading) ?? []);
  const by_distance = (found: Finding[]) => found.sort((a, b) => b.distance - a.distance);
  const effects = said(kEffects).sort((a, b) => (b.effect ?? 0) - (a.effect ?? 0));
  const measured = [...effects, ...by_distance(said(kOfRuns))];
  const of_weights = by_distance(said(kOfWeights));
  const first = measured.length > 0 ? [] : of_weights.splice(0, 1);
  const found = [...measured, ...first, ...by_distance([...of_weights, ...said(kOfHeadsWeights)])];
  return found.length > 0 ? found.slice(0, kMost) : [model_like_random(reading) ?? []].flat();
}
