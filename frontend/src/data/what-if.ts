// What the route `what_if` answers.

import { fieldsOf, listIn, textIn } from "./runs";

export type Between = { readonly value: number; readonly low: number; readonly high: number };

export type Prediction = {
  /** "workers=4, transform::Blur=0.5x", with a star where no CPU is free for it. */
  readonly name: string;
  readonly step: PredictedStep | AtLeast;
  readonly memoryBytes: number | null;
  readonly notes: readonly string[];
};

export type PredictedStep = {
  readonly us: Between;
  /** Of the step as captured: negative where it would take longer. */
  readonly savedShare: Between | null;
  readonly samplesPerS: Between | null;
  readonly waitShare: Between;
  /** Null without a device. */
  readonly idleShare: Between | null;
};

/** All that is known of a step where no CPU is free. */
export type AtLeast = { readonly atLeastUs: number };

/** Sentences are printed as they are. */
export type WhatIf = {
  readonly sentence: string;
  /** What makes the capture doubtful, and with it what is predicted. */
  readonly doubts: readonly string[];
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

function stepOf(value: unknown): PredictedStep | AtLeast {
  const fields = fieldsOf(value);
  const atLeastUs = numberOf(fields.at_least_us);
  if (atLeastUs !== null) return { atLeastUs };
  const [us, waitShare] = [between(fields.step_us), between(fields.data_wait_share)];
  if (us === null || waitShare === null) throw new Error("a prediction without a step");
  return {
    us,
    savedShare: between(fields.saved_share),
    samplesPerS: between(fields.samples_per_s),
    waitShare,
    idleShare: between(fields.device_idle_share),
  };
}

function prediction(value: unknown): Prediction {
  return {
    name: textIn(value, "name"),
    step: stepOf(value),
    memoryBytes: numberOf(fieldsOf(value).memory_bytes),
    notes: listIn(value, "notes").map(String),
  };
}

export function decodeWhatIf(value: unknown): WhatIf {
  return {
    sentence: textIn(value, "sentence"),
    doubts: listIn(value, "doubts").map((doubt) => textIn(doubt, "sentence")),
    limitTexts: listIn(value, "limit_texts").map(String),
    basisText: textIn(value, "basis_text"),
    predictions: listIn(value, "predictions").map(prediction),
  };
}
