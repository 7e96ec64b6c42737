// Which query the map and the text are about: the one that is pointed at, else the one that is held.

export interface SelectedQuery {
  query(): number | undefined;
  held(): number | undefined;
  point(query: number | undefined): void;
  hold(query: number): void; // again: lets it go
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
