// What every kind of sentence claims: docs/findings.md says it in a table. The page itself does not hold these words.
import { claim as attention_depth } from "./attention_rank_by_depth";
import { claim as collapsed } from "./collapsed_layers";
import { claim as composition } from "./composition";
import { claim as copying } from "./copying_heads";
import { claim as cross_attention } from "./cross_attention";
import { claim as dead_experts } from "./dead_experts";
import { claim as dead_heads } from "./dead_heads";
import { claim as duplicate_heads } from "./duplicate_heads";
import { claim as expert_twins } from "./similar_experts";
import { claim as experts_one_space } from "./experts_shared_subspace";
import { claim as fewest_directions } from "./low_rank_matrix";
import { claim as heavy_tails } from "./heavy_tails";
import { claim as identity_part } from "./identity_component";
import { claim as induction } from "./induction_heads";
import { claim as latent } from "./kv_latent";
import { claim as massive_activations } from "./massive_activations";
import { claim as matrix_like_random } from "./matrix_like_random";
import { claim as matters } from "./important_head";
import { claim as model_like_random } from "./model_like_random";
import { claim as needed_layer } from "./critical_layer";
import { claim as outlier_dimensions } from "./outlier_dimensions";
import { claim as previous_token } from "./previous_token_heads";
import { claim as raises } from "./attended_token_effect";
import { claim as shared_space } from "./overlapping_heads";
import { claim as sink } from "./attention_sink_heads";
import { claim as small_adapter } from "./small_adapter";
import { claim as smaller_model } from "./compressed_model";
import { claim as symmetric } from "./symmetric_heads";
import { claim as weights_depth } from "./weight_rank_by_depth";
import { claim as zero_matrices } from "./zero_matrices";
import type { Claim } from "./finding";

/** By the name of the kind. */
export const kClaims: Readonly<Record<string, Claim>> = {
  matters,
  raises,
  cross_attention,
  attention_depth,
  collapsed,
  composition,
  copying,
  dead_experts,
  dead_heads,
  duplicate_heads,
  expert_twins,
  experts_one_space,
  fewest_directions,
  heavy_tails,
  identity_part,
  induction,
  latent,
  massive_activations,
  matrix_like_random,
  model_like_random,
  needed_layer,
  outlier_dimensions,
  previous_token,
  shared_space,
  sink,
  small_adapter,
  smaller_model,
  symmetric,
  weights_depth,
  zero_matrices,
};

const cell = (words: string): string => words.replace(/\u202f/g, " ").replace(/\|/g, "\\|");

/** The table of docs/findings.md. The site's page of findings reads it by its columns. */
export const claims_table = (): string =>
  [
    "| sentence | guard | null | experiment | result |",
    "|---|---|---|---|---|",
    ...Object.entries(kClaims).map(([name, { sentence, guard, chance, experiment, result }]) => {
      const cells = [`**${name.replace(/_/g, " ")}**: ${sentence}`, guard, chance, experiment, result];
      return `| ${cells.map(cell).join(" | ")} |`;
    }),
  ].join("\n");
