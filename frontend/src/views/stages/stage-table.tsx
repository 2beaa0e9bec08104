import type { Capture, Stage } from "../../contract/report";
import {
  type ByteUnit,
  bytesPerCall,
  chooseByteUnit,
  inByteUnit,
  limitWords,
  selfParts,
  selfWords,
} from "../../model/evidence";
import { chooseTimeUnit, exactUs, formatCount, inUnit, ratioWords, type TimeUnit } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { buildTree, flatRows, nestedRows, type StageColumn, type StageRow, stageName } from "../../model/stage-tree";
import { shownStage, stageSort, stagesFlat, stagesFolded } from "../../state/atoms";
import { Unknown } from "../../ui/numbers";
import { SortHeader } from "../../ui/sort-header";
import { fillStyle } from "../../ui/swatch";

/** Whether a replay of the same dataset stands beside the live times. */
function isReplayed(stages: readonly Stage[]): boolean {
  return stages.some((stage) => stage.replay_ratio !== undefined);
}

/** Which columns of evidence any stage has something for. */
type Known = { readonly replay: boolean; readonly limits: boolean; readonly bytes: boolean };

function knownOf(stages: readonly Stage[]): Known {
  return {
    replay: isReplayed(stages),
    limits: stages.some((stage) => stage.limited_by !== "" || stage.cpu_self_us !== undefined),
    bytes: stages.some((stage) => stage.bytes !== undefined),
  };
}

const LIMIT_TITLE =
  "What most of the self time went to. CPU-bound: running on a core. Starved of CPU: ready to run, without a core. Blocked: waiting for storage, locks or other processes.";
const BYTES_TITLE = "Size of the stage's result, per call";
const NO_LIMIT = "Its CPU time was not recorded, or its calls are too short to tell.";
const NO_BYTES = "The size of this stage's results was not recorded.";

const REPLAY_TITLE =
  "Mean self time of a call in a replay: the same dataset alone, without training and without DataLoader workers";
const RATIO_TITLE =
  "Mean self time of a call in this run over that in the replay: what contention costs. At 1.7x a call takes 1.7 times as long while DataLoader workers and the training share processor, memory and disk.";

const BLAME_OF_WORKERS =
  "Each moment that the training thread waits for a batch counts for the innermost stage that the DataLoader worker making this batch is in at that moment.";
const BLAME_OF_THREAD =
  "Each moment that the training thread waits counts for the innermost stage that it is in at that moment, as it makes the batches itself.";

type Units = {
  readonly sums: TimeUnit;
  readonly calls: TimeUnit;
  readonly blame: TimeUnit;
  readonly replay: TimeUnit;
  readonly bytes: ByteUnit;
};

/** Sums, single calls and blame differ by orders of magnitude: each group of columns has one unit of its own. */
function unitsOf(stages: readonly Stage[]): Units {
  return {
    sums: chooseTimeUnit(stages.map((stage) => stage.total_us)),
    calls: chooseTimeUnit(stages.map((stage) => stage.max_us)),
    blame: chooseTimeUnit(stages.map((stage) => stage.blame_us)),
    replay: chooseTimeUnit(stages.map((stage) => stage.replay_mean_us)),
    bytes: chooseByteUnit(stages.map(bytesPerCall)),
  };
}

export function StageTable({ capture }: { capture: Capture }) {
  const { stages } = capture;
  const units = unitsOf(stages);
  const known = knownOf(stages);
  const flat = stagesFlat.value;
  const rows = flat
    ? flatRows(stages, stageSort.value)
    : nestedRows(buildTree(stages), stageSort.value, stagesFolded.value);
  const largestUs = Math.max(1e-9, ...stages.map((stage) => stage.total_us));
  return (
    <section>
      <div class="table-head">
        <h2>Stages</h2>
        <div class="toggle" role="group" aria-label="How the stages stand">
          <button
            type="button"
            aria-pressed={!flat}
            data-testid="stages-nested"
            onClick={() => (stagesFlat.value = false)}>
            nested
          </button>
          <button type="button" aria-pressed={flat} data-testid="stages-flat" onClick={() => (stagesFlat.value = true)}>
            flat
          </button>
        </div>
      </div>
      <div class="scroll-x stage-scroll">
        <table class={tableClass(known)} data-testid="stage-table">
          <StageHead
            units={units}
            known={known}
            blameTitle={capture.workers.length > 0 ? BLAME_OF_WORKERS : BLAME_OF_THREAD}
          />
          <tbody>
            {rows.map((row) => (
              <StageLine
                key={row.key}
                row={row}
                units={units}
                largestUs={largestUs}
                capture={capture}
                flat={flat}
                known={known}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The more columns there are, the fewer of the others stay where there is little room. */
function tableClass({ replay, limits, bytes }: Known): string {
  return ["stages", replay ? "replayed" : "", limits || bytes ? "evident" : ""].filter(Boolean).join(" ");
}

function Head({
  column,
  label,
  unit,
  title,
}: {
  column: StageColumn | "name";
  label: string;
  unit?: string;
  title?: string;
}) {
  const sort = stageSort.value;
  const active = sort.column === column;
  const onSort = (): void => {
    stageSort.value = { column, descending: active ? !sort.descending : column !== "name" };
  };
  const extra = { ...(unit === undefined ? {} : { unit }), ...(title === undefined ? {} : { title }) };
  return (
    <SortHeader
      label={label}
      name={column}
      active={active}
      descending={sort.descending}
      numeric={column !== "name"}
      onSort={onSort}
      {...extra}
    />
  );
}

type HeadProps = { readonly units: Units; readonly known: Known; readonly blameTitle: string };

function StageHead({ units, known, blameTitle }: HeadProps) {
  return (
    <thead>
      <tr>
        <Head column="name" label="Stage" />
        <th scope="col" class="bar-head">
          <span class="offscreen">Self and total time as a bar</span>
        </th>
        <Head column="count" label="Calls" />
        <Head column="total_us" label="Total" unit={units.sums} title="With the time of nested stages" />
        <Head column="self_us" label="Self" unit={units.sums} title="Without the time of nested stages" />
        <Head column="blame_us" label="Blame" unit={units.blame} title={blameTitle} />
        <th scope="col" class="num" title={`Blame as a share of the data wait. ${blameTitle}`}>
          of wait
        </th>
        {known.limits && (
          <th scope="col" data-head="limited_by" title={LIMIT_TITLE}>
            Limited by
          </th>
        )}
        {known.bytes && <Head column="bytes_per_call" label="Size" unit={units.bytes.name} title={BYTES_TITLE} />}
        <Head column="p50_us" label="p50" unit={units.calls} title="Half of the calls are shorter" />
        <Head column="p95_us" label="p95" unit={units.calls} title="95 of 100 calls are shorter" />
        <Head column="max_us" label="Max" unit={units.calls} title="Longest call" />
        {known.replay && <Head column="replay_mean_us" label="Replay" unit={units.replay} title={REPLAY_TITLE} />}
        {known.replay && <Head column="replay_ratio" label="Live / replay" title={RATIO_TITLE} />}
      </tr>
    </thead>
  );
}

type TimeColumn = Exclude<StageColumn, "bytes_per_call">;
type LineProps = {
  readonly row: StageRow;
  readonly units: Units;
  readonly largestUs: number;
  readonly capture: Capture;
  readonly flat: boolean;
  readonly known: Known;
};

function StageLine({ row, units, largestUs, capture, flat, known }: LineProps) {
  const { stage } = row;
  const time = (column: TimeColumn, unit: TimeUnit) => {
    const us = stage[column];
    if (us === undefined)
      return (
        <td class="num" data-column={column}>
          <Unknown reason={blameReason(capture, stage)} />
        </td>
      );
    return (
      <td class="num" data-column={column} data-value-us={us} title={exactUs(us)}>
        {inUnit(us, unit)}
      </td>
    );
  };
  return (
    <tr
      data-testid="stage-row"
      data-path={row.key}
      aria-current={shownStage.value === stageName(stage) ? "true" : undefined}>
      <th scope="row">
        <StageName row={row} flat={flat} />
      </th>
      <td class="stage-bars">
        <Bars stage={stage} largestUs={largestUs} />
      </td>
      <td class="num" data-column="count" data-value={stage.count}>
        {formatCount(stage.count)}
      </td>
      {time("total_us", units.sums)}
      {time("self_us", units.sums)}
      {time("blame_us", units.blame)}
      <td class="num">
        {stage.blame_us === undefined ? (
          <Unknown reason={blameReason(capture, stage)} />
        ) : (
          shareWords(stage.blame_us, capture.loader?.wait_us)
        )}
      </td>
      {known.limits && <LimitCell stage={stage} />}
      {known.bytes && <BytesCell stage={stage} unit={units.bytes} />}
      {time("p50_us", units.calls)}
      {time("p95_us", units.calls)}
      {time("max_us", units.calls)}
      {known.replay && <ReplayCells stage={stage} unit={units.replay} />}
    </tr>
  );
}

/** The word, and how the self time divides as a thin bar: dark running, grey without a core, hatched blocked. */
function LimitCell({ stage }: { stage: Stage }) {
  const parts = selfParts(stage);
  if (parts === undefined || stage.limited_by === "") {
    return (
      <td class="limit" data-column="limited_by">
        {parts === undefined ? (
          <Unknown reason={NO_LIMIT} />
        ) : (
          <span class="muted" title={selfWords(stage)}>
            no single one
          </span>
        )}
      </td>
    );
  }
  const { runningUs, starvedUs = 0, blockedUs } = parts;
  return (
    <td class="limit" data-column="limited_by" data-value={stage.limited_by} title={selfWords(stage)}>
      <span class="mini-bar" aria-hidden="true">
        <span class="fill" style={{ ...fillStyle("ink-muted"), flexGrow: runningUs }} />
        <span class="fill" style={{ ...fillStyle("rule-strong"), flexGrow: starvedUs }} />
        <span class="fill hatched" style={{ ...fillStyle("wait"), flexGrow: blockedUs }} />
      </span>
      {limitWords(stage.limited_by)}
    </td>
  );
}

function BytesCell({ stage, unit }: { stage: Stage; unit: ByteUnit }) {
  const bytes = bytesPerCall(stage);
  if (bytes === undefined)
    return (
      <td class="num" data-column="bytes_per_call">
        <Unknown reason={NO_BYTES} />
      </td>
    );
  return (
    <td
      class="num"
      data-column="bytes_per_call"
      data-value={stage.bytes}
      title={`${formatCount(bytes)} bytes per call, ${formatCount(stage.bytes ?? 0)} in all`}>
      {inByteUnit(bytes, unit)}
    </td>
  );
}

const NOT_REPLAYED = "The replay has no such stage.";

function ReplayCells({
  stage: { replay_mean_us: meanUs, replay_ratio: ratio },
  unit,
}: {
  stage: Stage;
  unit: TimeUnit;
}) {
  return (
    <>
      {meanUs === undefined ? (
        <td class="num" data-column="replay_mean_us">
          <Unknown reason={NOT_REPLAYED} />
        </td>
      ) : (
        <td class="num" data-column="replay_mean_us" data-value-us={meanUs} title={exactUs(meanUs)}>
          {inUnit(meanUs, unit)}
        </td>
      )}
      {ratio === undefined ? (
        <td class="num" data-column="replay_ratio">
          <Unknown reason={NOT_REPLAYED} />
        </td>
      ) : (
        <td class="num" data-column="replay_ratio" data-value={ratio} title={String(ratio)}>
          {ratioWords(ratio)}
        </td>
      )}
    </>
  );
}

function blameReason(capture: Capture, stage: Stage): string {
  if (stage.kind === "wait") return "The wait is what is divided among the stages; it has no part of its own.";
  return reasonFor(capture, "blame");
}

function toggleFold(key: string): void {
  const next = new Set(stagesFolded.value);
  if (!next.delete(key)) next.add(key);
  stagesFolded.value = next;
}

function StageName({ row, flat }: { row: StageRow; flat: boolean }) {
  const { stage } = row;
  const name = (
    <span class="mono stage-name">
      <span class="stage-kind">{stage.kind}::</span>
      {stage.label}
    </span>
  );
  // Every stage may lie in a wait; that tells nothing of where in the pipeline it is.
  const parents = stage.path
    .slice(0, -1)
    .filter((part) => !part.startsWith("wait::"))
    .map((part) => part.split("::")[1] ?? part);
  return (
    <div class="stage-cell" style={{ "--depth": String(row.depth) }} title={row.key}>
      {row.childCount > 0 ? (
        <button
          type="button"
          class="fold"
          aria-expanded={!row.folded}
          aria-label={`${row.folded ? "Show" : "Hide"} the stages inside ${stage.label}`}
          onClick={() => toggleFold(row.key)}>
          {row.folded ? "▸" : "▾"}
        </button>
      ) : (
        <span class="fold" aria-hidden="true" />
      )}
      {flat && parents.length > 0 ? (
        <span>
          {name}
          <span class="muted mono in-path">in {parents.join(" › ")}</span>
        </span>
      ) : (
        name
      )}
    </div>
  );
}

/** Total as a pale bar, self as the full one within it. */
function Bars({ stage, largestUs }: { stage: Stage; largestUs: number }) {
  const style = fillStyle(stage.kind);
  const hatched = stage.kind === "wait" ? " hatched" : "";
  return (
    <div class="stage-bar" aria-hidden="true">
      <span class="fill pale" style={{ ...style, width: `${(100 * stage.total_us) / largestUs}%` }} />
      <span class={`fill${hatched}`} style={{ ...style, width: `${(100 * stage.self_us) / largestUs}%` }} />
    </div>
  );
}
