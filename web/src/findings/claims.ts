// The claims of all kinds of findings, for the table in docs/findings.md. They are not part of the page.
import { claim as attention_rank_by_depth } from "./attention_rank_by_depth";
import { claim as collapsed_layers } from "./collapsed_layers";
import { claim as composition } from "./composition";
import { claim as copying_heads } from "./copying_heads";
import { claim as cross_attention } from "./cross_attention";
import { claim as dead_experts } from "./dead_experts";
import { claim as dead_heads } from "./dead_heads";
import { claim as duplicate_heads } from "./duplicate_heads";
import { claim as similar_experts } from "./similar_experts";
import { claim as experts_shared_subspace } from "./experts_shared_subspace";
import { claim as low_rank_matrix } from "./low_rank_matrix";
import { claim as heavy_tails } from "./heavy_tails";
import { claim as identity_component } from "./identity_component";
import { claim as induction_heads } from "./induction_heads";
import { claim as kv_latent } from "./kv_latent";
import { claim as massive_activations } from "./massive_activations";
import { claim as matrix_like_random } from "./matrix_like_random";
import { claim as important_head } from "./important_head";
import { claim as model_like_random } from "./model_like_random";
import { claim as critical_layer } from "./critical_layer";
import { claim as outlier_dimensions } from "./outlier_dimensions";
import { claim as previous_token_heads } from "./previous_token_heads";
import { claim as attended_token_effect } from "./attended_token_effect";
import { claim as overlapping_heads } from "./overlapping_heads";
import { claim as attention_sink_heads } from "./attention_sink_heads";
import { claim as small_adapter } from "./small_adapter";
import { claim as compressed_model } from "./compressed_model";
import { claim as symmetric_heads } from "./symmetric_heads";
import { claim as weight_rank_by_depth } from "./weight_rank_by_depth";
import { claim as zero_matrices } from "./zero_matrices";
import type { Claim } from "./finding";

/** Claims by kind. */
export const kClaims: Readonly<Record<string, Claim>> = {
  important_head,
  attended_token_effect,
  cross_attention,
  attention_rank_by_depth,
  collapsed_layers,
  composition,
  copying_heads,
  dead_experts,
  dead_heads,
  duplicate_heads,
  similar_experts,
  experts_shared_subspace,
  low_rank_matrix,
  heavy_tails,
  identity_component,
  induction_heads,
  kv_latent,
  massive_activations,
  matrix_like_random,
  model_like_random,
  critical_layer,
  outlier_dimensions,
  previous_token_heads,
  overlapping_heads,
  attention_sink_heads,
  small_adapter,
  compressed_model,
  symmetric_heads,
  weight_rank_by_depth,
  zero_matrices,
};

const cell = (words: string): string => words.replace(/\u202f/g, " ").replace(/\|/g, "\\|");

/** The table in docs/findings.md. The findings page of the site parses its columns. */
export const claims_table = (): string =>
  [
    "| finding | condition | baseline | experiment | result |",
    "|---|---|---|---|---|",
    ...Object.entries(kClaims).map(([name, { sentence, guard, chance, experiment, result }]) => {
      const cells = [`**${name.replace(/_/g, " ")}**: ${sentence}`, guard, chance, experiment, result];
      return `| ${cells.map(cell).join(" | ")} |`;
    }),
  ].join("\n");
