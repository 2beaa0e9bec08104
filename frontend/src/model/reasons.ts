// Why a number is missing: the diagnostic that speaks of it, else a plain sentence.

import type { Capture } from "../contract/report";

export type Topic = "device" | "loader" | "steps" | "stages" | "blame" | "throughput" | "window";

const WORDS: Readonly<Record<Topic, RegExp>> = {
  device: /device|gpu|kernel|cuda/i,
  loader: /loader|wait/i,
  steps: /step/i,
  stages: /stage|annotat|marker|span|foreign/i,
  blame: /in_wait|blame/i,
  throughput: /throughput|sample|batch/i,
  window: /window|empty|event/i,
};

const PLAIN: Readonly<Record<Topic, string>> = {
  device: "No device activity was recorded in this capture.",
  loader: "No span in this capture tells of a DataLoader.",
  steps: "This capture has no ProfilerStep markers: call prof.step() once per batch.",
  stages: "This capture carries no loading stages: wrap the loader with annotate.loader(...) before you profile.",
  blame: "It is not known how long the training thread waited for this stage.",
  throughput: "This capture does not tell how many samples it loaded.",
  window: "This capture has no timed events.",
};

/** Codes first: a code names its subject, a message may mention others in passing. */
export function reasonFor(capture: Capture, topic: Topic): string {
  const { diagnostics } = capture;
  const found =
    diagnostics.find((item) => WORDS[topic].test(item.code)) ??
    diagnostics.find((item) => WORDS[topic].test(item.message));
  return found?.message ?? PLAIN[topic];
}
