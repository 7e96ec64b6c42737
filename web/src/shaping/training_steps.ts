// Training steps from revision names: "step1000", "checkpoint-500", "global_step0042", "pythia-70m-step143000".

// A word such as "step" or "checkpoint", followed by a number with an optional k (thousand) or m (million).
const kStep = /(?:^|[^a-z])(?:global[-_]?)?(?:steps?|checkpoint|ckpt|iter(?:ation)?s?)[-_=\s]?(\d+)([km]?)(?![a-z0-9])/gi;

/** The last step number in a name or path. Undefined if there is none. */
export function training_step(name: string): number | undefined {
  const found = [...name.matchAll(kStep)].pop();
  if (!found) return undefined;
  const factor = { k: 1e3, m: 1e6 }[(found[2] ?? "").toLowerCase()] ?? 1;
  return Number(found[1]) * factor;
}

/** Revisions sorted by step. Models without a step, or with another shape than the first, are excluded. */
export function by_step<M extends { name: string; layers: number; heads: number; hidden_size: number }>(
  models: readonly M[],
): { step: number; model: M }[] {
  const found = models.flatMap((model) => {
    const step = training_step(model.name);
    return step === undefined ? [] : [{ step, model }];
  });
  const first = found[0]?.model;
  const alike = found.filter(
    ({ model }) => model.layers === first?.layers && model.heads === first.heads && model.hidden_size === first.hidden_size,
  );
  return alike.sort((a, b) => a.step - b.step);
}
