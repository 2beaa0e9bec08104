import type { Stage } from "../../contract/report";
import { bytesPerCall, limitWords, selfParts } from "../../model/costs";
import {
  type ByteUnit,
  exactNumber,
  formatCount,
  formatDuration,
  formatRatio,
  inByteUnit,
  type TimeUnit,
} from "../../model/format";
import { partsOf, type StageRow } from "../../model/stage-tree";
import { TimeCell } from "../../ui/cells";
import { Unknown } from "../../ui/numbers";
import { fillClass, fillStyle } from "../../ui/swatch";

const NO_LIMIT = "Its CPU time was not recorded, or its calls are too short.";
const NO_BYTES = "The size of this stage's results was not recorded.";
const NOT_REPLAYED = "This stage is not in the replay.";

/** The word, and how the self time divides as a thin bar: dark running, grey waiting for a CPU, hatched blocked. */
export function LimitCell({ stage }: { stage: Stage }) {
  const { limited_by: limit, limited_by_text: title } = stage;
  const parts = selfParts(stage);
  if (parts.length === 0)
    return (
      <td class="limit" data-column="limited_by">
        <Unknown reason={NO_LIMIT} />
      </td>
    );
  if (limit === "")
    return (
      <td class="limit muted" data-column="limited_by" title={title}>
        {limitWords(stage)}
      </td>
    );
  return (
    <td class="limit" data-column="limited_by" data-value={limit} title={title}>
      <span class="mini-bar" aria-hidden="true">
        {parts.map(({ token, us }) => (
          <span key={token} class={fillClass(token)} style={{ ...fillStyle(token), flexGrow: us }} />
        ))}
      </span>
      {limitWords(stage)}
    </td>
  );
}

export function BytesCell({ stage, unit }: { stage: Stage; unit: ByteUnit }) {
  const bytes = bytesPerCall(stage);
  if (bytes === undefined)
    return (
      <td class="num" data-column="bytes_per_call">
        <Unknown reason={NO_BYTES} />
      </td>
    );
  const exact = `${formatCount(bytes)} bytes per call, ${formatCount(stage.bytes ?? 0)} in all`;
  return (
    <td class="num" data-column="bytes_per_call" data-value-bytes={bytes} title={exact}>
      {inByteUnit(bytes, unit)}
    </td>
  );
}

export function ReplayCells({ stage, unit }: { stage: Stage; unit: TimeUnit }) {
  const { replay_mean_us: meanUs, replay_ratio: ratio } = stage;
  return (
    <>
      <TimeCell column="replay_mean_us" us={meanUs} unit={unit} reason={NOT_REPLAYED} />
      {ratio === undefined ? (
        <td class="num" data-column="replay_ratio">
          <Unknown reason={NOT_REPLAYED} />
        </td>
      ) : (
        <td
          class="num"
          data-column="replay_ratio"
          data-value={ratio}
          title={`${exactNumber(ratio)} times as long: ${liveWords(stage)}`}>
          {formatRatio(ratio)}
        </td>
      )}
    </>
  );
}

/** What is compared: the self time of one call, here and in the replay. */
function liveWords({ replay_mean_us: meanUs = 0, replay_ratio: ratio = 0 }: Stage): string {
  return `self ${formatDuration(meanUs * ratio)} per call here, ${formatDuration(meanUs)} in the replay`;
}

type NameProps = { readonly row: StageRow; readonly flat: boolean; readonly turn: () => void };

export function StageName({ row, flat, turn }: NameProps) {
  const { stage } = row;
  // The row is what is clicked; the button brings the keyboard there.
  const name = (
    <button type="button" class="link mono stage-name" data-testid="stage-link">
      <span class="stage-kind">{stage.kind}::</span>
      {stage.label}
    </button>
  );
  // Every stage may lie in a wait, which says nothing of where in the pipeline it is.
  const parents = stage.path.slice(0, -1).filter((part) => !part.startsWith("wait::"));
  const labels = parents.map((part) => partsOf(part).label);
  return (
    <div class="stage-cell" style={{ "--depth": String(row.depth) }} title={row.key}>
      {row.childCount > 0 ? (
        <button
          type="button"
          class="fold"
          aria-expanded={!row.folded}
          aria-label={`${row.folded ? "Show" : "Hide"} the stages inside ${stage.label}`}
          onClick={(event) => {
            event.stopPropagation();
            turn();
          }}>
          {row.folded ? "▸" : "▾"}
        </button>
      ) : (
        <span class="fold" aria-hidden="true" />
      )}
      {flat && labels.length > 0 ? (
        <span>
          {name}
          <span class="muted mono in-path">in {labels.join(" › ")}</span>
        </span>
      ) : (
        name
      )}
    </div>
  );
}

/** Total as a pale bar, self as the full one within it. */
export function Bars({ stage, largestUs }: { stage: Stage; largestUs: number }) {
  const style = fillStyle(stage.kind);
  const width = (us: number): string => `${(100 * us) / largestUs}%`;
  return (
    <div class="stage-bar" aria-hidden="true">
      <span class="fill pale" style={{ ...style, width: width(stage.total_us) }} />
      <span class={fillClass(stage.kind)} style={{ ...style, width: width(stage.self_us) }} />
    </div>
  );
}
