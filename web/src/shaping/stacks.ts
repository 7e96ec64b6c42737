// Stacks of one model. A report lists each stack as a model, named "model:encoder" and so on.
import type { AnyModel } from "../data/report_file";

export interface Stack {
  index: number; // index of its model in the report
  model: AnyModel;
  stack: string; // "encoder"
}

/** The decoder of the encoder-decoder to which this stack belongs. Undefined for other models. */
export function decoder_of(models: readonly AnyModel[], model: AnyModel): AnyModel | undefined {
  return stacks_of(models, model).find(({ stack }) => stack === "decoder")?.model;
}

/** All stacks of the model to which this stack belongs. Empty for a model without stacks. */
export function stacks_of(models: readonly AnyModel[], model: AnyModel): Stack[] {
  const parts = (each: AnyModel) => /^(.*):(encoder|decoder|cross|text|vision)$/s.exec(each.name);
  const own = parts(model);
  if (!own) return [];
  return models.flatMap((each, index) => {
    const found = parts(each);
    return found && found[1] === own[1] ? [{ index, model: each, stack: found[2] ?? "" }] : [];
  });
}
