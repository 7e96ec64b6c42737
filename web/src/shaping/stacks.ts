// The stacks of one model: models of their own in a report, named "model:encoder" and so on.
import type { AnyModel } from "../data/report_file";

export interface Stack {
  index: number; // of its model in the report
  model: AnyModel;
  stack: string; // "encoder"
}

/** The decoder of the encoder-decoder that this is a stack of; undefined where it is of none. */
export function decoder_of(models: readonly AnyModel[], model: AnyModel): AnyModel | undefined {
  return stacks_of(models, model).find(({ stack }) => stack === "decoder")?.model;
}

/** Those of the same model as this one, it among them; none where it has no others. */
export function stacks_of(models: readonly AnyModel[], model: AnyModel): Stack[] {
  const parts = (each: AnyModel) => /^(.*):(encoder|decoder|cross|text|vision)$/s.exec(each.name);
  const own = parts(model);
  if (!own) return [];
  return models.flatMap((each, index) => {
    const found = parts(each);
    return found && found[1] === own[1] ? [{ index, model: each, stack: found[2] ?? "" }] : [];
  });
}
