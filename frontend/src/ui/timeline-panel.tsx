import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { TimelineView } from "../canvas/timeline-view";
import type { Link } from "../model/batches";
import { CAUSES, causeWords } from "../model/causes";
import type { Place } from "../model/chain";
import type { BoxInfo, HoverInfo } from "../model/hover";
import { foldedLanes, keepLanes, type LaneRows, type TimelineModel, tokensIn } from "../model/lanes";
import { covers, lengthUs, type TimeRange } from "../model/time-scale";
import { lanesTurned, range, theme, timeline } from "../state/atoms";
import { TimelineLoader } from "../state/timeline-loader";
import { paletteOf } from "../theme/theme";
import { TOKENS } from "../theme/tokens";
import { RangeBar } from "./range-bar";
import { ErrorState, LoadingState, UnavailableState } from "./states";
import { Legend, Swatch } from "./swatch";
import { Tooltip } from "./tooltip";

type Props = {
  readonly id: string;
  /** What the canvas shows, for those who cannot see it. */
  readonly label: string;
  /** Which lanes are drawn; `keepKey` says when that changes. */
  readonly keep: (lane: LaneRows) => boolean;
  readonly keepKey: string;
  /** A stretch of time to tint. */
  readonly selected?: TimeRange | null;
  /** A span to frame, in one lane. */
  readonly marked?: Place | null;
  /** Theme token of the only gaps that are drawn in full. */
  readonly only?: string | null;
  /** The arrow to draw, from the lanes at hand: the finest that reach as far as the screen. */
  readonly linkOf?: (lanes: readonly LaneRows[]) => Link | null;
  /** More lines for the box under the pointer. */
  readonly describe?: (box: BoxInfo) => readonly string[];
  readonly onPick?: (box: BoxInfo | null) => void;
  /** What a click does, for the line under the canvas. */
  readonly pickWords?: string;
  /** Drawn under the canvas, for charts on the same time range. */
  readonly below?: ComponentChildren;
};
type Hover = { readonly info: HoverInfo; readonly x: number; readonly y: number };

export function TimelinePanel(props: Props) {
  const { whole, detail, error } = timeline.value;
  const { keep, keepKey } = props;
  const shownWhole = useMemo(() => (whole === null ? null : keepLanes(whole, keep)), [whole, keepKey]);
  const shownDetail = useMemo(() => (detail === null ? null : keepLanes(detail, keep)), [detail, keepKey]);
  if (shownWhole !== null && lengthUs(shownWhole.window) > 0)
    return <Panel {...props} whole={shownWhole} detail={shownDetail} />;
  return <Missing id={props.id} error={error} known={shownWhole !== null} />;
}

/** Asks for the timeline, and says what there is instead of one. */
function Missing({ id, error, known }: { id: string; error: string | null; known: boolean }) {
  useLoader(id, 1000);
  if (known)
    return <UnavailableState title="There is no timeline to draw." reason="The capture's window has no length." />;
  if (error !== null) return <ErrorState title="The timeline cannot be shown." message={error} />;
  return <LoadingState title="Drawing the timeline" />;
}

type PanelProps = Props & { readonly whole: TimelineModel; readonly detail: TimelineModel | null };

function Panel({
  id,
  label,
  whole,
  detail,
  selected = null,
  marked = null,
  only = null,
  linkOf,
  describe,
  onPick,
  pickWords,
  below,
}: PanelProps) {
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const viewRef = useRef<TimelineView | null>(null);
  // The canvas outlives many drawings of this component: it must call the newest handler.
  const pickRef = useRef(onPick);
  pickRef.current = onPick;
  const hover = useSignal<Hover | null>(null);
  const plotPx = useSignal(1000);
  useLoader(id, plotPx.value);

  useEffect(() => {
    const canvas = canvasRef.current;
    if (canvas === null) return undefined;
    const view = new TimelineView(canvas, {
      onRange: (next) => (range.value = next),
      onHover: (info, x, y) => (hover.value = info === null ? null : { info, x, y }),
      onResize: (px) => (plotPx.value = px),
      onPick: (box) => pickRef.current?.(box),
      onTitle: turnLane,
    });
    viewRef.current = view;
    return () => view.dispose();
  }, []);

  const shown = range.value;
  const themeName = theme.value;
  const folded = foldedLanes(whole.lanes, lanesTurned.value);
  const finest = detail !== null && covers(detail.slice, shown ?? whole.window) ? detail : whole;
  const link = linkOf?.(finest.lanes) ?? null;
  useEffect(() => {
    viewRef.current?.update({
      whole,
      detail,
      range: shown,
      selected,
      marked,
      only,
      link,
      folded,
      palette: paletteOf(themeName),
    });
  }, [
    whole,
    detail,
    shown,
    selected?.startUs,
    selected?.endUs,
    JSON.stringify(marked),
    only,
    JSON.stringify(link),
    [...folded].join(),
    themeName,
  ]);

  useEffect(() => {
    if (marked !== null) viewRef.current?.revealLane(marked.laneId);
  }, [marked?.laneId, marked?.startUs, marked?.endUs]);

  return (
    <section class="timeline" data-testid="timeline-panel">
      <div class="table-head">
        <h2>Timeline</h2>
        <FoldSwitch lanes={whole.lanes} folded={folded} />
      </div>
      <RangeBar window={whole.window} shown={shown ?? whole.window} act={(action) => viewRef.current?.act(action)} />
      <canvas
        ref={canvasRef}
        tabIndex={0}
        aria-roledescription="timeline"
        data-testid="timeline-canvas"
        data-marked={marked === null ? undefined : marked.laneId}
        data-link={link === null ? undefined : `${link.from.laneId} ${link.to.laneId}`}
        aria-label={`${label} Keys: w and s zoom, a and d move, 0 shows the whole window.`}
      />
      {below}
      {timeline.value.error !== null && <p class="error-line">{timeline.value.error}</p>}
      <TimelineLegend model={whole} folded={folded} />
      <p class="muted keys">
        Wheel or <kbd>w</kbd> <kbd>s</kbd> zooms, drag or <kbd>a</kbd> <kbd>d</kbd> moves, <kbd>0</kbd> shows the whole
        window
        {pickWords === undefined ? "." : `; ${pickWords}.`}
      </p>
      {hover.value !== null && (
        <HoverTip
          hover={hover.value}
          more={hover.value.info.box === null ? [] : (describe?.(hover.value.info.box) ?? [])}
        />
      )}
    </section>
  );
}

function HoverTip({ hover: { info, x, y }, more }: { hover: Hover; more: readonly string[] }) {
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

function turnLane(laneId: string): void {
  const next = new Set(lanesTurned.value);
  if (!next.delete(laneId)) next.add(laneId);
  lanesTurned.value = next;
}

/** Opens or folds all lanes of DataLoader workers; one alone is turned by a click on its title. */
function FoldSwitch({ lanes, folded }: { lanes: readonly LaneRows[]; folded: ReadonlySet<string> }) {
  const own = lanes.filter((lane) => lane.kind === "worker");
  if (own.length === 0) return null;
  const set = (wanted: boolean): void => {
    const natural = foldedLanes(lanes, new Set());
    lanesTurned.value = new Set(own.filter((lane) => natural.has(lane.id) !== wanted).map((lane) => lane.id));
  };
  return (
    <div class="toggle" role="group" aria-label="What the lanes of DataLoader workers show">
      <button type="button" aria-pressed={folded.size === 0} data-testid="lanes-stages" onClick={() => set(false)}>
        batches and stages
      </button>
      <button
        type="button"
        aria-pressed={folded.size === own.length}
        data-testid="lanes-batches"
        onClick={() => set(true)}>
        batches only
      </button>
    </div>
  );
}

function useLoader(id: string, widthPx: number): void {
  const loaderRef = useRef<TimelineLoader | null>(null);
  useEffect(() => {
    const loader = new TimelineLoader();
    loaderRef.current = loader;
    return () => loader.stop();
  }, [id]);
  const wholeMissing = timeline.value.whole === null;
  const shown = range.value;
  useEffect(() => {
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    loaderRef.current?.want({ id, range: shown, widthPx: Math.round(widthPx * ratio) });
  }, [id, shown, widthPx, wholeMissing]);
}

const LEGEND_WORDS: Readonly<Record<string, string>> = {
  kernel: "kernel",
  copy: "device copy",
  wait: "data wait",
  user: "user",
  h2d: "host-to-device",
};

/** Only the colours that occur in these lanes, in the order of the theme's table. */
function TimelineLegend({ model, folded }: { model: TimelineModel; folded: ReadonlySet<string> }) {
  const used = useMemo(() => tokensIn(model, folded), [model, [...folded].join()]);
  const items = TOKENS.filter((token) => used.has(token) && token !== "step").map((token) => ({
    token,
    label: legendWords(token),
  }));
  return <Legend items={items} />;
}

function legendWords(token: string): string {
  const cause = CAUSES.find((name) => token === `idle:${name}`);
  return cause === undefined ? (LEGEND_WORDS[token] ?? token) : `idle: ${causeWords(cause)}`;
}
