// The views, in the order of the bar.
import type { View } from "../page/view";
import { data_view } from "./data/view";
import { overview_view } from "./overview/view";
import { spectra_view } from "./spectra/view";

export const kViews: readonly View[] = [overview_view, spectra_view, data_view];
