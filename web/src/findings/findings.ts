// All kinds of sentences, and those that a model deserves.
import type { Reading } from "../page/view";
import { attention_depth } from "./attention_depth";
import { collapsed_layers } from "./collapsed";
import { composition } from "./composition";
import { copying_heads } from "./copying";
import { duplicate_heads } from "./duplicate_heads";
import { fewest_directions } from "./fewest_directions";
import type { Finding, Kind } from "./finding";
import { sink_heads } from "./sink";
import { heavy_tails } from "./heavy_tails";
import { identity_part } from "./identity_part";
import { induction_heads } from "./induction";
import { latent } from "./latent";
import { near_random } from "./near_random";
import { nearly_random } from "./nearly_random";
import { previous_token_heads } from "./previous_token";
import { shared_space } from "./shared_space";
import { symmetric_heads } from "./symmetric_heads";
import { weights_depth } from "./weights_depth";

const kKinds: readonly Kind[] = [
  fewest_directions, nearly_random, weights_depth, attention_depth, collapsed_layers, duplicate_heads, shared_space, copying_heads,
  symmetric_heads, identity_part, induction_heads, previous_token_heads, sink_heads, latent, heavy_tails, composition,
];

/** Furthest from the null first, at most six. Of a model in which nothing stands out, just that. */
export function findings(reading: Reading): Finding[] {
  const found = kKinds.flatMap((kind) => kind(reading) ?? []).sort((a, b) => b.distance - a.distance);
  if (found.length === 0) return [near_random(reading) ?? []].flat();
  return found.slice(0, 6);
}
