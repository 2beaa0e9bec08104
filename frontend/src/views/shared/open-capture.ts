// Going to a capture that another view names.

import { batch } from "@preact/signals";
import type { CaptureEntry } from "../../data/runs";
import { selectCapture, selectView, showStage } from "../../state/actions";
import { runs } from "../../state/atoms";
import { type StageWay, stageWay } from "../../ui/stage-ref";

/** By its folder and name. */
export function captureCalled(run: string, name: string): CaptureEntry | undefined {
  return runs.value?.captures.find((item) => item.run === run && item.name === name);
}

/** By its id, or as a report names it: one of a single folder by the file's name alone. */
export function captureWithId(id: string): CaptureEntry | undefined {
  const all = runs.value?.captures ?? [];
  return (
    all.find((item) => item.id === id || `${item.run}/${item.name}` === id) ?? all.find((item) => item.name === id)
  );
}

/** Both at once: one step back from it. */
export function openCapture(id: string): void {
  batch(() => {
    selectCapture(id);
    selectView("overview");
  });
}

/** From a view of several captures to the pages of stages of one of them, which is named as in `captureWithId`. */
export function waysInto(capture: string, stages: readonly string[]): StageWay | null {
  const item = captureWithId(capture);
  if (item === undefined) return null;
  return stageWay(stages, (name) =>
    batch(() => {
      selectCapture(item.id);
      showStage(name);
    }),
  );
}
