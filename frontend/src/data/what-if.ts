// What the route `what_if` answers.

import { fieldsOf, listIn, textIn } from "./runs";

export type Between = { readonly value: number; readonly low: number; readonly high: number };

export type Prediction = {
  /** "workers 4, transform::Blur at 0.5 of its time". */
  readonly change: string;
  readonly stepUs: Between;
  readonly samplesPerS: Between | null;
  readonly waitShare: Between;
  /** Null without a device. */
  readonly idleShare: Between | null;
  readonly limitedBy: string;
  readonly memoryBytes: number | null;
  readonly notes: readonly string[];
};

export type WhatIf = {
  readonly stepUs: number;
  readonly samplesPerS: number | null;
  readonly workers: number;
  readonly prefetch: number;
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

function changeText(value: unknown): string {
  const { workers, prefetch, in_order: order, stages } = fieldsOf(value);
  const parts = [
    ...(numberOf(workers) === null ? [] : [`${String(workers)} DataLoader workers`]),
    ...(numberOf(prefetch) === null ? [] : [`prefetch_factor=${String(prefetch)}`]),
    ...(typeof order === "boolean" ? [order ? "in_order=True" : "in_order=False"] : []),
    ...Object.entries(fieldsOf(stages)).map(([name, factor]) => `${name} at ${String(factor)} of its time`),
  ];
  return parts.join(", ") || "unchanged";
}

function prediction(value: unknown): Prediction {
  const fields = fieldsOf(value);
  const [stepUs, waitShare] = [between(fields.step_us), between(fields.data_wait_share)];
  if (stepUs === null || waitShare === null) throw new Error("a prediction without a step");
  return {
    change: changeText(fields.change),
    stepUs,
    samplesPerS: between(fields.samples_per_s),
    waitShare,
    idleShare: between(fields.device_idle_share),
    limitedBy: textIn(value, "limited_by"),
    memoryBytes: numberOf(fields.memory_bytes),
    notes: listIn(value, "notes").map(String),
  };
}

export function decodeWhatIf(value: unknown): WhatIf {
  const { baseline, settings } = fieldsOf(value);
  return {
    stepUs: numberOf(fieldsOf(baseline).step_us) ?? 0,
    samplesPerS: numberOf(fieldsOf(baseline).samples_per_s),
    workers: numberOf(fieldsOf(settings).workers) ?? 0,
    prefetch: numberOf(fieldsOf(settings).prefetch) ?? 0,
    predictions: listIn(value, "predictions").map(prediction),
  };
}
