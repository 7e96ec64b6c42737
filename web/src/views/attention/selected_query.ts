// The selected query of the map and the text: under the pointer, otherwise the one kept by a click.

export interface SelectedQuery {
  query(): number | undefined;
  held(): number | undefined;
  point(query: number | undefined): void;
  hold(query: number): void; // a second call releases it
  watch(changed: () => void): void;
}

export function select_queries(held: number | undefined, on_hold: (query: number | undefined) => void): SelectedQuery {
  let pointed: number | undefined;
  const watching: (() => void)[] = [];
  const tell = () => watching.forEach((each) => each());
  return {
    query: () => pointed ?? held,
    held: () => held,
    point(query) {
      if (query === pointed) return;
      pointed = query;
      tell();
    },
    hold(query) {
      held = held === query ? undefined : query;
      pointed = undefined;
      on_hold(held);
      tell();
    },
    watch: (changed) => void watching.push(changed),
  };
}
