import { useSignal } from "@preact/signals";
import type { RankRow, Ranks } from "../../contract/report";
import { exactUs, formatDuration, plural } from "../../model/format";
import { cssColor } from "../../theme/tokens";
import { PictureMenu } from "../../ui/picture-menu";
import { Legend } from "../../ui/swatch";
import { Tooltip } from "../../ui/tooltip";
import { useWidth } from "../../ui/use-width";
import { captureWithId, openCapture } from "../shared/open-capture";

const LEFT_PX = 76;
const RIGHT_PX = 8;
const TOP_PX = 8;
/** Of the longest bar upwards and the longest one downwards together. */
const BARS_PX = 140;
const LABELS_PX = 24;
const WIDEST_PX = 96;
const LABEL_PX = 28;
/** Of the heading and the legend. */
const NARROWEST_PX = 720;

const OWNED = { token: "ink", label: "up: what others lost waiting for it" };
const INHERITED = { token: "idle:comm", label: "down: lost waiting for others" };

type Hover = { readonly row: RankRow; readonly x: number; readonly y: number };
type Scale = { readonly zeroPx: number; readonly pxPerUs: number; readonly slotPx: number; readonly endPx: number };

/** Lost time by rank: upwards where a rank is waited for, downwards where it waits. */
export function RankChart({ ranks: { rows } }: { ranks: Ranks }) {
  const [ref, widthPx] = useWidth<HTMLDivElement>(960);
  const hover = useSignal<Hover | null>(null);
  const [ownedUs, inheritedUs] = [mostOf(rows, ownedOf), mostOf(rows, inheritedOf)];
  if (rows.length < 2 || ownedUs + inheritedUs <= 0) return null;
  const mostPx = Math.max(NARROWEST_PX, LEFT_PX + RIGHT_PX + WIDEST_PX * rows.length);
  const pxPerUs = BARS_PX / (ownedUs + inheritedUs);
  const slotPx = Math.max(100, widthPx - LEFT_PX - RIGHT_PX) / rows.length;
  const scale = { pxPerUs, slotPx, zeroPx: TOP_PX + ownedUs * pxPerUs, endPx: LEFT_PX + slotPx * rows.length };
  return (
    <figure class="step-chart" ref={ref} style={{ maxWidth: `${mostPx}px` }}>
      <figcaption>
        <h2>Lost time by rank</h2>
        <Legend items={[OWNED, INHERITED]} />
        <PictureMenu name="Lost time by rank" />
      </figcaption>
      <svg
        width={widthPx}
        height={TOP_PX + BARS_PX + LABELS_PX}
        viewBox={`0 0 ${widthPx} ${TOP_PX + BARS_PX + LABELS_PX}`}
        role="img"
        data-testid="rank-chart"
        aria-label={`Lost time of ${plural(rows.length, "rank")}; the table below has the numbers`}>
        <Level scale={scale} us={ownedUs} />
        <Level scale={scale} us={0} />
        <Level scale={scale} us={-inheritedUs} />
        {rows.map((row, index) => (
          <Bars key={row.rank} row={row} index={index} scale={scale} show={(at) => (hover.value = at)} />
        ))}
      </svg>
      {hover.value !== null && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          <Readout row={hover.value.row} />
        </Tooltip>
      )}
    </figure>
  );
}

const ownedOf = (row: RankRow): number => row.owned_us;
const inheritedOf = (row: RankRow): number => row.inherited_us;

function mostOf(rows: readonly RankRow[], of: (row: RankRow) => number): number {
  return rows.reduce((most, row) => Math.max(most, of(row)), 0);
}

function Level({ scale, us }: { scale: Scale; us: number }) {
  const y = Math.round(scale.zeroPx - us * scale.pxPerUs) + 0.5;
  return (
    <g class="axis">
      <line x1={LEFT_PX} x2={scale.endPx} y1={y} y2={y} />
      <text x={LEFT_PX - 8} y={y + 4} text-anchor="end">
        {us === 0 ? "0" : formatDuration(Math.abs(us))}
      </text>
    </g>
  );
}

type BarsProps = {
  readonly row: RankRow;
  readonly index: number;
  readonly scale: Scale;
  readonly show: (hover: Hover | null) => void;
};

function Bars({ row, index, scale, show }: BarsProps) {
  const { zeroPx, pxPerUs, slotPx } = scale;
  const left = LEFT_PX + index * slotPx;
  const barPx = 0.7 * Math.min(WIDEST_PX, slotPx);
  const bar = { x: left + (slotPx - barPx) / 2, width: barPx };
  const [up, down] = [row.owned_us * pxPerUs, row.inherited_us * pxPerUs];
  return (
    <g data-testid="rank-bar" data-rank={row.rank}>
      <rect {...bar} y={zeroPx - up} height={up} style={{ fill: cssColor(OWNED.token) }} />
      <rect {...bar} y={zeroPx} height={down} style={{ fill: cssColor(INHERITED.token) }} />
      {index % Math.ceil(LABEL_PX / slotPx) === 0 && (
        <text x={left + slotPx / 2} y={TOP_PX + BARS_PX + 16} text-anchor="middle">
          {row.rank}
        </text>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the table's buttons do the same by keys */}
      <rect
        class="step-target trend-target"
        x={left}
        y={0}
        width={slotPx}
        height={TOP_PX + BARS_PX + LABELS_PX}
        onPointerMove={({ clientX: x, clientY: y }) => show({ row, x, y })}
        onPointerLeave={() => show(null)}
        onClick={() => open(row.capture)}
      />
    </g>
  );
}

function open(capture: string): void {
  const item = captureWithId(capture);
  if (item !== undefined) openCapture(item.id);
}

function Readout({ row }: { row: RankRow }) {
  return (
    <>
      <p class="tooltip-title">
        Rank {row.rank} {row.host !== "" && `on ${row.host}`}
      </p>
      <p>others lost {exactUs(row.owned_us)} waiting for it</p>
      <p>it lost {exactUs(row.inherited_us)} waiting for others</p>
      {row.cause !== "" && <p>cause: {row.cause}</p>}
    </>
  );
}
