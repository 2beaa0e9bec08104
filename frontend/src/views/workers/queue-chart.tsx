import { useSignal } from "@preact/signals";
import type { QueueDepth } from "../../contract/report";
import { exactPosition, formatCount, plural } from "../../model/format";
import { gutterPx } from "../../model/lane-layout";
import { type Corner, deepest, rowAtTime, stepCorners } from "../../model/queue";
import { pxToUs, type TimeScale, usToPx } from "../../model/time-scale";
import { range, timeline } from "../../state/atoms";
import { PictureMenu } from "../../ui/picture-menu";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";

const TOP_PX = 20;
const PLOT_PX = 56;
const HEIGHT_PX = TOP_PX + PLOT_PX + 8;

/** Batches between the DataLoader workers and the training thread, on the timeline's own time range. */
export function QueueChart({ queue }: { queue: QueueDepth }) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<{ readonly us: number; readonly x: number; readonly y: number } | null>(null);
  const shown = range.value ?? timeline.value.whole?.window;
  const most = deepest(queue);
  if (shown === undefined || most === 0) return null;
  const leftPx = gutterPx(widthPx);
  const scale: TimeScale = { range: shown, leftPx, rightPx: Math.max(leftPx + 1, widthPx) };
  const ready = stepCorners(queue.time_us, queue.ready, scale);
  const inFlight = stepCorners(queue.time_us, queue.in_flight, scale);
  const bottom = TOP_PX + PLOT_PX;
  return (
    <figure class="queue" ref={ref}>
      <PictureMenu name="Batches in queue" />
      <svg
        width={widthPx}
        height={HEIGHT_PX}
        viewBox={`0 0 ${widthPx} ${HEIGHT_PX}`}
        role="img"
        data-testid="queue-chart"
        data-start-us={shown.startUs}
        data-end-us={shown.endUs}
        aria-label={`Queue depth over time: batches ready and in flight, at most ${most}`}
        onPointerMove={(event) => {
          const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
          hover.value = x < leftPx ? null : { us: pxToUs(scale, x), x: event.clientX, y: event.clientY };
        }}
        onPointerLeave={() => (hover.value = null)}>
        <g class="axis">
          <line x1={leftPx} x2={widthPx} y1={TOP_PX + 0.5} y2={TOP_PX + 0.5} />
          <line x1={leftPx} x2={widthPx} y1={bottom + 0.5} y2={bottom + 0.5} />
          <text x={0} y={10}>
            Batches in queue
          </text>
          <text x={leftPx - 8} y={TOP_PX + 4} text-anchor="end">
            {formatCount(most)}
          </text>
          <text x={leftPx - 8} y={bottom + 4} text-anchor="end">
            0
          </text>
        </g>
        <path class="queue-ready" d={`${pathOf(ready, most)}${closing(ready, bottom)}`} />
        <path class="queue-ready-line" d={pathOf(ready, most)} />
        <path class="queue-flight" d={pathOf(inFlight, most)} />
        {hover.value !== null && (
          <line
            class="queue-cursor"
            x1={usToPx(scale, hover.value.us)}
            x2={usToPx(scale, hover.value.us)}
            y1={TOP_PX}
            y2={bottom}
          />
        )}
      </svg>
      <QueueLegend leftPx={leftPx} isLate={rowAtTime(queue.time_us, shown.startUs) < 0} />
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <Readout queue={queue} us={hover.value.us} />
        </Tooltip>
      )}
    </figure>
  );
}

function yOf(value: number, most: number): number {
  return TOP_PX + PLOT_PX * (1 - value / most);
}

function pathOf(corners: readonly Corner[], most: number): string {
  return corners
    .map(({ xPx, value }, i) => `${i === 0 ? "M" : "L"}${xPx.toFixed(1)} ${yOf(value, most).toFixed(1)}`)
    .join("");
}

/** Down to the base line and back, so that the area can be filled. */
function closing(corners: readonly Corner[], bottom: number): string {
  const [first, last] = [corners[0], corners.at(-1)];
  return first === undefined || last === undefined
    ? ""
    : `L${last.xPx.toFixed(1)} ${bottom}L${first.xPx.toFixed(1)} ${bottom}Z`;
}

/** `isLate`: what is on screen begins before the queue is known. */
function QueueLegend({ leftPx, isLate }: { leftPx: number; isLate: boolean }) {
  return (
    <div style={{ paddingLeft: `${leftPx}px` }}>
      <ul class="legend">
        <li>
          <Key name="queue-ready" />
          ready: finished, not yet received
        </li>
        <li>
          <Key name="queue-flight" />
          in flight: handed to a DataLoader worker, not finished
        </li>
      </ul>
      {isLate && (
        <p class="legend" data-testid="queue-late">
          Blank at the left: unknown until the window's first batch is handed out.
        </p>
      )}
    </div>
  );
}

function Key({ name }: { name: "queue-ready" | "queue-flight" }) {
  return (
    <svg class="queue-key" width="16" height="10" aria-hidden="true">
      {name === "queue-ready" && <path class="queue-ready" d="M0 2H16V10H0Z" />}
      <path
        class={name === "queue-ready" ? "queue-ready-line" : name}
        d={name === "queue-ready" ? "M0 2H16" : "M0 5H16"}
      />
    </svg>
  );
}

function Readout({ queue, us }: { queue: QueueDepth; us: number }) {
  const row = rowAtTime(queue.time_us, us);
  if (row < 0) return <p>The queue at {exactPosition(us)} was not recorded.</p>;
  return (
    <>
      <p class="tooltip-title">{plural(queue.ready[row] ?? 0, "batch")} ready</p>
      <p>{formatCount(queue.in_flight[row] ?? 0)} in flight</p>
      <p>at {exactPosition(us)}</p>
    </>
  );
}
