// What one frame of the timeline is drawn from.

import type { Link } from "../model/batches";
import type { Place } from "../model/chain";
import type { BoxAddress } from "../model/hover";
import { type Layout, ROW_PX } from "../model/lane-layout";
import type { Row, TimelineModel } from "../model/lanes";
import { type TimeRange, type TimeScale, usToPx } from "../model/time-scale";
import type { Palette } from "../theme/tokens";

export const BOX_PX = ROW_PX - 2;

export type Frame = {
  readonly model: TimelineModel;
  readonly layout: Layout;
  readonly scale: TimeScale;
  readonly palette: Palette;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly selected: TimeRange | null;
  readonly marked: Place | null;
  readonly only: string | null;
  /** Numbers of the names that are searched; null = nothing is. */
  readonly found: ReadonlySet<number> | null;
  readonly link: Link | null;
  readonly hover: BoxAddress | null;
  /** What is being selected on the ruler. */
  readonly selecting: TimeRange | null;
};

export type Extent = { readonly left: number; readonly right: number };

/** Pixel extent of a box, cut to the canvas so that a huge one costs no more than a small one. */
export function extentOf(frame: Frame, row: Row, index: number): Extent {
  const start = row.startUs[index] ?? 0;
  const left = Math.max(frame.scale.leftPx - 2, usToPx(frame.scale, start));
  const right = Math.min(frame.scale.rightPx + 2, usToPx(frame.scale, start + (row.durationUs[index] ?? 0)));
  return { left, right };
}
