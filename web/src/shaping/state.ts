// The state of the page is stored in the address after "#": "heads?t=0.9&l=2&h=9". Back and copied addresses restore it.

export interface State {
  view: string;
  params: Readonly<Record<string, string>>;
}

/** New values of parameters; null removes one. */
export type Changes = Readonly<Record<string, string | number | null>>;

// Parameters shared by all views: threshold, model, layer, head.
const kShared = ["t", "m", "l", "h"];

export function parse_state(fragment: string, first_view: string): State {
  const [view = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  return { view: view || first_view, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** The state with changes applied. Changing the view keeps only the shared parameters. */
export function changed(state: State, changes: Changes, view = state.view): State {
  const kept = Object.entries(state.params).filter(([name]) => view === state.view || kShared.includes(name));
  const params: Record<string, string> = Object.fromEntries(kept);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete params[name];
    else params[name] = String(value);
  }
  return { view, params };
}

export function fragment_of(state: State): string {
  const query = new URLSearchParams(state.params).toString();
  return `#${state.view}${query ? `?${query}` : ""}`;
}

/** An integer from 0 to `limit` - 1. Undefined if missing or invalid. */
export function index_param(state: State, name: string, limit = Infinity): number | undefined {
  const text = state.params[name];
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) < limit ? Number(text) : undefined;
}

/** One of the choices; the first by default. */
export function choice_param<Choice extends string>(state: State, name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  return choices.find((choice) => choice === state.params[name]) ?? choices[0];
}

/** "0,3,5" as a list. Undefined if missing. */
export function list_param(state: State, name: string): string[] | undefined {
  return state.params[name]?.split(",").filter(Boolean);
}
