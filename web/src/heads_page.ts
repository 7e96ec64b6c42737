// The small page of attention maps: the heads of one text, for cells of notebooks.
import "./views/head_view/style.css";
import { load_report } from "./data/load";
import { h } from "./page/elements";
import { apply_theme, current_theme } from "./page/theme_switch";
import { parse_state } from "./shaping/state";
import { head_view } from "./views/head_view/view";

const report = await load_report();
if (report) {
  const main = h("main", {});
  document.body.prepend(main);
  const draw = () => {
    const theme = current_theme();
    apply_theme(theme);
    main.replaceChildren(head_view(report, parse_state(location.hash || (report.file.open ?? ""), "heads"), theme));
  };
  draw();
  addEventListener("hashchange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
