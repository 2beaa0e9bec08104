// Why a number is missing: the diagnostic of its topic, else a plain sentence.

import type { Capture } from "../contract/report";

export type Topic = "device" | "loader" | "steps" | "stages" | "blame" | "throughput" | "window" | "workers";

const PLAIN: Readonly<Record<Topic, string>> = {
  device: "No device activity was recorded in this capture.",
  loader: "No span in this capture tells of a DataLoader.",
  steps: "This capture has no ProfilerStep markers: call prof.step() once per batch.",
  stages: "This capture carries no loading stages: wrap the loader with annotate.loader(...) before you profile.",
  blame: "It is not known how long the training thread waited for this stage.",
  throughput: "This capture does not tell how many samples it loaded.",
  window: "This capture has no timed events.",
  workers: "The DataLoader workers left no records in this capture.",
};

export function reasonFor(capture: Capture, topic: Topic): string {
  return told(capture, topic) ?? PLAIN[topic];
}

function told(capture: Capture, topic: Topic): string | undefined {
  return capture.diagnostics.find((item) => item.topic === topic)?.message;
}

/** Why nothing is known of the DataLoader workers. Where a diagnostic speaks only of blame, it is for want of their records. */
export function noWorkersReason(capture: Capture): string {
  return told(capture, "workers") ?? told(capture, "blame") ?? PLAIN.workers;
}
