// All kinds of findings, and the selection shown for a model.
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
 * Measured effects of components on the predictions of the text, in nats. The effect of an ablation is the change in mean loss. A head that
 * adds δ to a token's logit changes the token's log-probability by at most δ nats, so logits and nats share one scale.
 */
const kEffects = {
  important_head,
  cross_attention,
  attended_token_effect,
  critical_layer,
} satisfies Partial<Record<KindName, Kind>>;

/** Other measurements from a run of the model. */
const kOfRuns = {
  attention_rank_by_depth,
  collapsed_layers,
  induction_heads,
  previous_token_heads,
  attention_sink_heads,
  dead_heads,
  massive_activations,
  outlier_dimensions,
  dead_experts,
  compressed_model,
} satisfies Partial<Record<KindName, Kind>>;

const kOfWeights = {
  zero_matrices,
  low_rank_matrix,
  matrix_like_random,
  weight_rank_by_depth,
  kv_latent,
  heavy_tails,
  similar_experts,
  experts_shared_subspace,
  small_adapter,
} satisfies Partial<Record<KindName, Kind>>;

/** Statistics of head weights. They do not show whether a head is important, so none comes first if there is another finding. */
export const kOfHeadsWeights = {
  duplicate_heads,
  overlapping_heads,
  copying_heads,
  symmetric_heads,
  identity_component,
  composition,
  zero_heads,
} satisfies Partial<Record<KindName, Kind>>;

/** All kinds by name, except `model_like_random`, which is used only if there is no other finding. */
export const kKinds: Readonly<Record<Exclude<KindName, "model_like_random">, Kind>> = {
  ...kEffects,
  ...kOfRuns,
  ...kOfWeights,
  ...kOfHeadsWeights,
};

const kMost = 6;

/**
 * At most six findings: measured effects in descending order, then other measurements from a run, then statistics of the weights. The last
 * two groups are sorted by distance from the baseline. There are fewer than six kinds of effects, so an effect is never dropped. Without
 * any other finding, reports whether the model looks random.
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
