import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type TimelineInput, TimelineView } from "../canvas/timeline-view";
import { CAUSES, STAGE_KINDS } from "../contract/words";
import { causeToken } from "../model/causes";
import type { Place } from "../model/chain";
import type { BoxInfo, HoverInfo } from "../model/hover";
import type { Strip } from "../model/lane-layout";
import { type LaneRows, type TimelineModel, tokensIn } from "../model/lanes";
import { clampRange, type TimeRange } from "../model/time-scale";
import { stageLabel } from "../model/words";
import { TOKENS } from "../theme/tokens";
import { Minimap } from "./minimap";
import { PictureMenu } from "./picture-menu";
import { RangeBar } from "./range-bar";
import { scrollToSee } from "./sight";
import { Legend, Swatch } from "./swatch";
import { watchTimelineKeys } from "./timeline-keys";
import { Tooltip } from "./tooltip";
import { useWheelHint, WheelHint, ZOOM_KEY } from "./wheel-hint";

/** Whoever draws it keeps each value of the input until it changes: the canvas is painted for every new one. */
type Props = TimelineInput & {
  /** What the canvas shows, for those who cannot see it. */
  readonly label: string;
  readonly error: string | null;
  readonly onRange: (range: TimeRange | null) => void;
  readonly onResize: (plotPx: number) => void;
  readonly onPick: (box: BoxInfo | null) => void;
  readonly turnLane: (laneId: string) => void;
  /** Opens or folds all lanes of DataLoader workers. */
  readonly foldAll: (folded: boolean) => void;
  /** More lines for the box under the pointer. */
  readonly describe?: ((box: BoxInfo) => readonly string[]) | undefined;
  /** What a click does, for the line under the canvas. */
  readonly pickWords?: ComponentChildren;
  /** Drawn under the canvas, for charts on the same time range. */
  readonly below?: ComponentChildren;
  /** To find spans; above the canvas, which shows what is found. */
  readonly search?: ComponentChildren;
  /** What the page scrolls to; `place` null: what is marked. A new value scrolls again. */
  readonly sought?: { readonly place: Place | null } | null;
  /** Is given how to ask where on screen what is marked stands, the best answer first. */
  readonly marks?: { current: () => readonly Strip[] };
};
type Hover = { readonly info: HoverInfo; readonly x: number; readonly y: number };

export function Timeline(props: Props) {
  const { whole, detail, range, selected, marked, only, searched, link, folded, palette } = props;
  const hasGaps = whole.lanes.some(({ kind }) => kind === "gaps");
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const rulerRef = useRef<HTMLCanvasElement>(null);
  const viewRef = useRef<TimelineView | null>(null);
  const hover = useSignal<Hover | null>(null);
  const hint = useWheelHint();
  // The canvas outlives many drawings of this component: it must call the newest handlers.
  const newest = useRef(props);
  newest.current = props;

  // Before the browser paints, or prints.
  useLayoutEffect(() => {
    const [canvas, ruler] = [canvasRef.current, rulerRef.current];
    if (canvas === null || ruler === null) return undefined;
    const view = new TimelineView(canvas, ruler, {
      onRange: (next) => {
        hint.hide();
        newest.current.onRange(next);
      },
      onHover: (info, x, y) => {
        hover.value = info === null ? null : { info, x, y };
      },
      onResize: (px) => newest.current.onResize(px),
      onPick: (box) => newest.current.onPick(box),
      onTitle: (laneId) => newest.current.turnLane(laneId),
      onPlainWheel: () => hint.show(),
    });
    viewRef.current = view;
    if (props.marks !== undefined) props.marks.current = () => view.stripsOnScreen(null);
    return () => view.dispose();
  }, []);
  useLayoutEffect(() => {
    viewRef.current?.update({ whole, detail, range, selected, marked, only, searched, link, folded, palette });
  }, [whole, detail, range, selected, marked, only, searched, link, folded, palette]);
  useEffect(() => watchTimelineKeys((action) => viewRef.current?.act(action)), []);
  const sought = props.sought ?? null;
  // Again with each slice that arrives: it may have more rows, above what was scrolled to.
  useEffect(() => {
    if (sought !== null) scrollToSee(viewRef.current?.stripsOnScreen(sought.place) ?? []);
  }, [sought, whole, detail, marked, link, selected, folded]);

  return (
    <section class="timeline" data-testid="timeline-panel">
      <div class="table-head">
        <h2>Timeline</h2>
        <FoldSwitch lanes={whole.lanes} folded={folded} foldAll={props.foldAll} />
        {props.search}
        <PictureMenu name="Timeline" />
      </div>
      <div class="timeline-top">
        <RangeBar window={whole.window} shown={range ?? whole.window} act={(action) => viewRef.current?.act(action)} />
        <Minimap
          whole={whole}
          shown={range ?? whole.window}
          palette={palette}
          onRange={(next) => props.onRange(clampRange(next, whole.window))}
        />
        <div aria-hidden="true">
          <canvas ref={rulerRef} class="ruler" data-testid="timeline-ruler" />
        </div>
      </div>
      <div class="canvas-frame">
        {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: the canvas takes keys, which this role hands to it */}
        <canvas
          ref={canvasRef}
          tabIndex={0}
          role="application"
          aria-roledescription="timeline"
          data-testid="timeline-canvas"
          data-marked={marked?.laneId}
          data-searched={searched.join(" ")}
          data-link={link === null ? undefined : `${link.from.laneId} ${link.to.laneId}`}
          aria-label={`${props.label} Keys: w and s zoom, a and d move, 0 shows the whole window, ${hasGaps ? "g and n go to the next idle gap and data wait" : "n goes to the next data wait"}.`}
        />
        {hint.shown && <WheelHint />}
      </div>
      {props.below !== undefined && <div class="timeline-below">{props.below}</div>}
      {props.error !== null && <p class="error-line">{props.error}</p>}
      <TimelineLegend model={whole} folded={folded} />
      <Keys pickWords={props.pickWords} hasGaps={hasGaps} />
      {hover.value !== null && <HoverTip hover={hover.value} describe={props.describe} />}
    </section>
  );
}

function Keys({ pickWords, hasGaps }: { pickWords: ComponentChildren; hasGaps: boolean }) {
  return (
    <p class="muted keys">
      <kbd>{ZOOM_KEY}</kbd> + wheel or <kbd>w</kbd> <kbd>s</kbd> zooms, drag or <kbd>a</kbd> <kbd>d</kbd> moves, a drag
      over the times zooms to them, <kbd>0</kbd> shows the whole window, {hasGaps && <kbd>g</kbd>} <kbd>n</kbd>{" "}
      {hasGaps ? "go to the next idle gap or data wait" : "goes to the next data wait"} (with <kbd>Shift</kbd>: the one
      before)
      {pickWords !== undefined && <>; {pickWords}</>}.
    </p>
  );
}

function HoverTip({ hover: { info, x, y }, describe }: { hover: Hover; describe: Props["describe"] }) {
  const more = info.box === null ? [] : (describe?.(info.box) ?? []);
  return (
    <Tooltip x={x} y={y}>
      <p class="tooltip-title">
        <Swatch token={info.token} />
        {info.title}
      </p>
      {[...info.lines, ...more].map((line) => (
        <p key={line}>{line}</p>
      ))}
    </Tooltip>
  );
}

type FoldProps = {
  readonly lanes: readonly LaneRows[];
  readonly folded: ReadonlySet<string>;
  readonly foldAll: (folded: boolean) => void;
};

/** For all lanes of DataLoader workers; one alone is turned by a click on its title. */
function FoldSwitch({ lanes, folded, foldAll }: FoldProps) {
  const count = lanes.filter(({ owner }) => owner !== null).length;
  if (count === 0) return null;
  return (
    <div class="toggle" role="group" aria-label="What the lanes of DataLoader workers show">
      <button type="button" aria-pressed={folded.size === 0} data-testid="lanes-stages" onClick={() => foldAll(false)}>
        batches and stages
      </button>
      <button
        type="button"
        aria-pressed={folded.size === count}
        data-testid="lanes-batches"
        onClick={() => foldAll(true)}>
        batches only
      </button>
    </div>
  );
}

const LEGEND: ReadonlyMap<string, string> = new Map<string, string>([
  ["copy", "device copy"],
  ["runtime", "runtime call"],
  ...STAGE_KINDS.map(({ id, label }) => [id, label] as const),
  ...CAUSES.map(({ id, label }) => [causeToken(id), `idle: ${label}`] as const),
]);

/** Only the colours that occur in these lanes, in the order of the theme's table. */
function TimelineLegend({ model, folded }: { model: TimelineModel; folded: ReadonlySet<string> }) {
  const used = useMemo(() => tokensIn(model, folded), [model, folded]);
  const shown = TOKENS.filter((token) => used.has(token) && token !== "step");
  return <Legend items={shown.map((token) => ({ token, label: LEGEND.get(token) ?? stageLabel(token) }))} />;
}
