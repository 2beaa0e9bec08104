// The timeline with the page's state: what is loaded, zoomed, folded; the views say what else is on it.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { LaneScope } from "../../data/spans";
import type { Link } from "../../model/batches";
import type { Place } from "../../model/chain";
import type { BoxInfo } from "../../model/hover";
import {
  foldedLanes,
  keepLanes,
  type LaneRows,
  type TimelineModel,
  turnedFor,
  turnedOver,
  turnedToSee,
} from "../../model/lanes";
import { areInFolded } from "../../model/spans";
import { clampRange, covers, lengthUs, type TimeRange } from "../../model/time-scale";
import { chosenSteps, lanesTurned, offered, range, sought, spanSearch, theme, timeline } from "../../state/atoms";
import { TimelineLoader } from "../../state/timeline-loader";
import { paletteOf } from "../../theme/theme";
import { type Side, sideOf } from "../../ui/sight";
import { ErrorState, LoadingState, UnavailableState } from "../../ui/states";
import { Timeline } from "../../ui/timeline";
import { goToTimeline, marksOnScreen, withdrawOffer } from "./go-to";
import { SpanSearch } from "./span-search";
import { TimelineJumps, type TurnGap } from "./timeline-jumps";

/** Functions and values are kept by whoever gives them until they change (useMemo, useCallback). */
type Props = {
  readonly id: string;
  /** What the canvas shows, for those who cannot see it. */
  readonly label: string;
  /** Which lanes are drawn; left out: all. */
  readonly scope?: LaneScope;
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
  /** What the keys for the next gap do; left out: they go to those drawn. */
  readonly turnGap?: TurnGap;
  /** What a click does, for the line under the canvas. */
  readonly pickWords?: ComponentChildren;
  /** Drawn under the canvas, for charts on the same time range. */
  readonly below?: ComponentChildren;
};

const ALL: LaneScope = {};

export function TimelinePanel(props: Props) {
  const { whole, detail, error } = timeline.value;
  const { scope = ALL } = props;
  const shownWhole = useMemo(() => (whole === null ? null : keepLanes(whole, scope)), [whole, scope]);
  const shownDetail = useMemo(() => (detail === null ? null : keepLanes(detail, scope)), [detail, scope]);
  const why = shownWhole === null ? null : whyEmpty(shownWhole);
  if (shownWhole !== null && why === null)
    return <Panel {...props} scope={scope} whole={shownWhole} detail={shownDetail} />;
  return <Missing id={props.id} error={error} why={why} />;
}

/** Why there is nothing to draw; null where there is. */
function whyEmpty({ window, lanes }: TimelineModel): string | null {
  if (lengthUs(window) <= 0) return "The capture's window is empty.";
  return lanes.length === 0 ? "No step, data wait, stage or operator lies in the window." : null;
}

/** Asks for the timeline, and says what there is instead of one. */
function Missing({ id, error, why }: { id: string; error: string | null; why: string | null }) {
  useLoader(id, 1000);
  if (why !== null) return <UnavailableState title="There is no timeline." reason={why} />;
  if (error !== null) return <ErrorState title="The timeline cannot be shown." message={error} />;
  return <LoadingState title="Drawing the timeline" />;
}

type PanelProps = Props & {
  readonly scope: LaneScope;
  readonly whole: TimelineModel;
  readonly detail: TimelineModel | null;
};

function Panel({
  id,
  scope,
  whole,
  detail,
  linkOf,
  onPick,
  turnGap,
  selected = null,
  marked = null,
  only = null,
  ...rest
}: PanelProps) {
  const plotPx = useSignal(1000);
  useLoader(id, plotPx.value);
  const wanted = range.value;
  // A link may name times that this capture does not have.
  const shown = useMemo(() => (wanted === null ? null : clampRange(wanted, whole.window)), [wanted, whole]);
  const turned = lanesTurned.value;
  const finest = detail !== null && covers(detail.slice, shown ?? whole.window) ? detail : whole;
  const link = useMemo(() => linkOf?.(finest.lanes) ?? null, [linkOf, finest]);
  const folded = useMemo(() => foldedLanes(whole.lanes, turned), [whole, turned]);
  const hit = useSignal<Place | null>(null);
  const searched = useMemo(() => spanSearch.value.toLowerCase().split(/\s+/).filter(Boolean), [spanSearch.value]);
  const inFolded = useMemo(() => areInFolded(finest, searched, folded), [finest, searched, folded]);
  const forgetHit = (): void => {
    hit.value = null;
  };
  useEffect(forgetHit, [marked, selected]);
  const seen = shown ?? whole.window;
  return (
    <>
      <Timeline
        {...rest}
        {...{ whole, detail, selected, only, link, folded }}
        marked={hit.value ?? marked}
        searched={searched}
        sought={sought.value?.where === "timeline" ? sought.value : null}
        marks={marksOnScreen}
        range={shown}
        palette={paletteOf(theme.value)}
        error={timeline.value.error}
        onRange={(next) => {
          range.value = next;
        }}
        onResize={(px) => {
          plotPx.value = px;
        }}
        onPick={(box) => {
          forgetHit();
          onPick?.(box);
        }}
        turnLane={turnLane}
        foldAll={(wanted) => {
          lanesTurned.value = turnedFor(whole.lanes, wanted);
        }}
        search={
          <SpanSearch
            {...{ id, scope }}
            steps={chosenSteps.value}
            shown={seen}
            words={searched}
            inFolded={inFolded}
            hit={hit.value}
            setHit={(next) => {
              hit.value = next;
              // By now the lanes may be others than when it was asked for.
              if (next !== null) lanesTurned.value = turnedToSee(whole.lanes, lanesTurned.value, next);
            }}
          />
        }
      />
      <TimelineJumps model={finest} whole={whole} shown={seen} turnGap={turnGap} />
      <WayUp />
    </>
  );
}

/** Stays until it is taken, or until the user has gone there or elsewhere. */
function WayUp() {
  const offer = offered.value;
  const side = useSignal<Side | null>(null);
  useEffect(() => {
    if (offer === null) return undefined;
    const look = (): void => {
      const [strip] = marksOnScreen.current();
      side.value = strip === undefined ? null : sideOf(strip);
      if (side.value === null) withdrawOffer();
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, [offer]);
  useEffect(() => withdrawOffer, []);
  if (offer === null || side.value === null) return null;
  return (
    <p class="above" role="status" data-testid="way-up">
      Shown in the timeline {side.value}.{" "}
      <button type="button" class="link" onClick={goToTimeline}>
        Go there
      </button>{" "}
      <span class="muted">
        (<kbd>t</kbd>, which also leads back)
      </span>
    </p>
  );
}

function turnLane(laneId: string): void {
  lanesTurned.value = turnedOver(lanesTurned.value, laneId);
}

function useLoader(id: string, widthPx: number): void {
  const steps = chosenSteps.value;
  const loaderRef = useRef<TimelineLoader | null>(null);
  useEffect(() => {
    const loader = new TimelineLoader();
    loaderRef.current = loader;
    return () => loader.stop();
  }, [id, steps]);
  const wholeMissing = timeline.value.whole === null;
  const shown = range.value;
  useEffect(() => {
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    loaderRef.current?.want({ id, steps, range: shown, widthPx: Math.round(widthPx * ratio) });
  }, [id, steps, shown, widthPx, wholeMissing]);
}
