import "./page/font.css";
import "./page/style.css";
import "./live/style.css";
import "./views/attention/style.css";
import "./views/heads/style.css";
import "./views/overview/style.css";
import { load_report } from "./data/load";
import { follow_server } from "./live/jobs";
import { analysis_button } from "./live/run_panel";
import { h } from "./page/elements";
import { offer_analyses } from "./page/view_parts";
import { start } from "./page/shell";
import { kViews } from "./views/views";

try {
  const report = await load_report();
  if (report) {
    if (report.live) offer_analyses((id, models) => analysis_button(id, report, models));
    const redraw = start({ report, views: kViews });
    if (report.live)
      follow_server(
        () => report.file.revision,
        async () => {
          Object.assign(report, await load_report());
          redraw();
        },
      );
  } else
    document.body.prepend(
      h(
        "main",
        { class: "message" },
        h("p", {}, "This page contains no report. To create one, run:"),
        h("code", {}, "attnscope report MODEL -o report.html"),
      ),
    );
} catch (error) {
  document.body.prepend(
    h(
      "main",
      { class: "message", role: "alert" },
      h("p", {}, `Cannot open the report: ${error instanceof Error ? error.message : String(error)}`),
    ),
  );
  throw error;
}
