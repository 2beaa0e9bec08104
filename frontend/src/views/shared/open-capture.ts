// Going to a capture that another view names.

import type { CaptureEntry } from "../../data/runs";
import { selectCapture, selectView } from "../../state/actions";
import { runs } from "../../state/atoms";

/** By its folder and name. */
export function captureCalled(run: string, name: string): CaptureEntry | undefined {
  return runs.value?.captures.find((item) => item.run === run && item.name === name);
}

/** By its id, or as a report names it. */
export function captureWithId(id: string): CaptureEntry | undefined {
  return runs.value?.captures.find(
    (item) => item.id === id || (item.run === "." ? item.name : `${item.run}/${item.name}`) === id,
  );
}

export function openCapture(id: string): void {
  selectCapture(id);
  selectView("overview");
}
