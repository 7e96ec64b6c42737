// The views, in the order of the top bar.
import type { Views } from "../page/view";
import { attention_view } from "./attention/view";
import { data_view } from "./data/view";
import { difference_view } from "./difference/view";
import { experts_view } from "./experts/view";
import { heads_view } from "./heads/view";
import { ablation_view } from "./ablation/view";
import { models_view } from "./models/view";
import { overview_view } from "./overview/view";
import { plan_view } from "./plan/view";
import { prompts_view } from "./prompts/view";
import { similarity_view } from "./similarity/view";
import { spectra_view } from "./spectra/view";
import { weights_view } from "./weights/view";

export const kViews: Views = [
  overview_view,
  spectra_view,
  heads_view,
  ablation_view,
  prompts_view,
  weights_view,
  similarity_view,
  attention_view,
  experts_view,
  plan_view,
  difference_view,
  models_view,
  data_view,
];
