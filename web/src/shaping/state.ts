// What is shown lives in the address after "#": "heads?t=0.9&l=2&h=9". Back and a copied address restore it.

export interface State {
  view: string;
  params: Readonly<Record<string, string>>;
}

/** New values of parameters; null takes one away. */
export type Changes = Readonly<Record<string, string | number | null>>;

// These mean the same in every view: threshold, model, layer, head.
const kShared = ["t", "m", "l", "h"];

export function parse_state(fragment: string, first_view: string): State {
  const [view = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  return { view: view || first_view, params: Object.fromEntries(new URLSearchParams(query)) };
}

/** `values` beside the state's own parameters; those of another view are left behind. */
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

/** A whole number of at least 0 and less than `limit`; undefined where it is not given or is not one. */
export function index_param(state: State, name: string, limit = Infinity): number | undefined {
  const text = state.params[name];
  if (text === undefined || !/^\d{1,9}$/.test(text)) return undefined;
  return Number(text) < limit ? Number(text) : undefined;
}

/** One of a few words; the first where none of them is given. */
export function choice_param<Choice extends string>(state: State, name: string, choices: readonly [Choice, ...Choice[]]): Choice {
  return choices.find((choice) => choice === state.params[name]) ?? choices[0];
}

/** "0,3,5" as numbers; undefined where it is not given. */
export function list_param(state: State, name: string): string[] | undefined {
  return state.params[name]?.split(",").filter(Boolean);
}
