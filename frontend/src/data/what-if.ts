// What the route `what_if` answers.

import { fieldsOf, listIn, textIn } from "./runs";

export type Between = { readonly value: number; readonly low: number; readonly high: number };

export type Prediction = {
  /** "workers=4, transform::Blur=0.5x", with a star where the gain would be other programs' loss. */
  readonly name: string;
  readonly stepUs: Between;
  /** Of the step as captured: negative where it would take longer. Null where other programs would have to give way. */
  readonly savedShare: Between | null;
  readonly samplesPerS: Between | null;
  readonly waitShare: Between;
  /** Null without a device. */
  readonly idleShare: Between | null;
  readonly memoryBytes: number | null;
  readonly notes: readonly string[];
  /** Whether the gain would be taken from other programs: the step is no shorter than its value. */
  readonly crowded: boolean;
};

/** Sentences are printed as they are. */
export type WhatIf = {
  readonly sentence: string;
  readonly limitTexts: readonly string[];
  readonly basisText: string;
  readonly predictions: readonly Prediction[];
};

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function between(value: unknown): Between | null {
  const { value: middle, low, high } = fieldsOf(value);
  const [a, b, c] = [numberOf(middle), numberOf(low), numberOf(high)];
  return a === null || b === null || c === null ? null : { value: a, low: b, high: c };
}

function prediction(value: unknown): Prediction {
  const fields = fieldsOf(value);
  const [stepUs, waitShare] = [between(fields.step_us), between(fields.data_wait_share)];
  if (stepUs === null || waitShare === null) throw new Error("a prediction without a step");
  return {
    name: textIn(value, "name"),
    stepUs,
    savedShare: between(fields.saved_share),
    samplesPerS: between(fields.samples_per_s),
    waitShare,
    idleShare: between(fields.device_idle_share),
    memoryBytes: numberOf(fields.memory_bytes),
    notes: listIn(value, "notes").map(String),
    crowded: fields.crowded === true,
  };
}

export function decodeWhatIf(value: unknown): WhatIf {
  return {
    sentence: textIn(value, "sentence"),
    limitTexts: listIn(value, "limit_texts").map(String),
    basisText: textIn(value, "basis_text"),
    predictions: listIn(value, "predictions").map(prediction),
  };
}
