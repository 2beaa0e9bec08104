import { Fragment, type RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Capture, Stage } from "../../contract/report";
import { formatCount, formatDuration } from "../../model/format";
import { partsWithoutRow } from "../../model/parts";
import { reasonFor } from "../../model/reasons";
import { containsAll } from "../../model/rows";
import { share, shareWords } from "../../model/shares";
import {
  buildTree,
  flatRows,
  isWords,
  nestedRows,
  type StageColumn,
  type StageRow,
  stageName,
} from "../../model/stage-tree";
import { showStage } from "../../state/actions";
import { stageSearch, stageSort, stagesFlat, stagesFolded } from "../../state/atoms";
import { ShareCell, TimeCell } from "../../ui/cells";
import { DataTable, onlyWith } from "../../ui/data-table";
import { Explained } from "../../ui/explained";
import { SearchField } from "../../ui/search-field";
import { SortHeader } from "../../ui/sort-header";
import { Bars, BytesCell, LimitCell, ReplayCells, StageName } from "./stage-cells";
import {
  BYTES_TITLE,
  CALLS_TITLE,
  type Known,
  knownOf,
  LIMIT_TITLE,
  RATIO_TITLE,
  replayTitle,
  type Units,
  unitsOf,
  waitTitle,
} from "./stage-columns";

/** The row that led to the page of its stage: the focus comes back to it. */
let left: string | null = null;

function useReturn(): RefObject<HTMLElement> {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    const { activeElement: focused } = document;
    const row = [...(ref.current?.querySelectorAll("tr") ?? [])].find((one) => one.dataset.path === left);
    if (focused === null || focused === document.body)
      row?.querySelector<HTMLElement>("[data-testid=stage-link]")?.focus({ preventScroll: true });
    left = null;
  }, []);
  return ref;
}

export function StageTable({ capture }: { capture: Capture }) {
  const { stages } = capture;
  const [units, known, flat, sort] = [unitsOf(stages), knownOf(stages), stagesFlat.value, stageSort.value];
  const search = stageSearch;
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const isFlat = flat || words.length > 0;
  const rows = (isFlat ? flatRows(stages, sort) : nestedRows(buildTree(stages), sort, stagesFolded.value)).filter(
    ({ key }) => containsAll(key.toLowerCase(), words),
  );
  const largestUs = Math.max(1e-9, ...stages.map((stage) => stage.total_us));
  const section = useReturn();
  return (
    <section ref={section}>
      <div class="table-head">
        <h2>Stages</h2>
        <NestSwitch flat={flat} />
        <SearchField label="Search stages" text={search} shown={rows.length} all={stages.length} />
      </div>
      {known.replay && (
        <p class="muted" data-testid="stages-replay">
          Replay: <span class="mono">{capture.replay_name}</span>, the same dataset without training.
        </p>
      )}
      {rows.length > 0 && (
        <div class="scroll-x stage-scroll">
          <DataTable name="Stages" only={onlyWith(search.value)} class={tableClass(known)} testId="stage-table" main>
            <StageHead units={units} known={known} waitTitle={waitTitle(capture)} replay={capture.replay_name} />
            <tbody>
              {rows.map((row) => (
                <StageLine key={row.key} {...{ row, units, largestUs, capture, known }} flat={isFlat} />
              ))}
            </tbody>
          </DataTable>
        </div>
      )}
      <WithoutRow capture={capture} />
      <WithApart names={capture.loader?.apart?.wait_names ?? ""} />
    </section>
  );
}

/** The verdict's shares are of the loop alone. */
function WithApart({ names }: { names: string }) {
  if (names === "") return null;
  return (
    <p class="muted" data-testid="stages-apart">
      Stages and their data wait include {names}, which the verdict leaves out.
    </p>
  );
}

/** A part of the data wait that was no span has no row: who looks for it finds it here. */
function WithoutRow({ capture }: { capture: Capture }) {
  const parts = partsWithoutRow(capture);
  if (parts.length === 0) return null;
  return (
    <p class="muted" data-testid="without-row">
      Data wait without a row, as no stage caused it:{" "}
      {parts.map(({ name, us, meaning = "" }, at) => (
        <Fragment key={name}>
          {at > 0 && ", "}
          <Explained text={meaning}>{name}</Explained> {formatDuration(us)} ({shareWords(us, capture.loader?.wait_us)})
        </Fragment>
      ))}
      .
    </p>
  );
}

function NestSwitch({ flat }: { flat: boolean }) {
  const set = (next: boolean) => (): void => {
    stagesFlat.value = next;
  };
  return (
    <div class="toggle" role="group" aria-label="Order of the stages">
      <button type="button" aria-pressed={!flat} data-testid="stages-nested" onClick={set(false)}>
        nested
      </button>
      <button type="button" aria-pressed={flat} data-testid="stages-flat" onClick={set(true)}>
        flat
      </button>
    </div>
  );
}

/** The more columns there are, the fewer of the others stay where there is little room. */
function tableClass({ replay, limits, bytes }: Known): string {
  return ["stages", replay ? "replayed" : "", limits || bytes ? "evident" : ""].filter(Boolean).join(" ");
}

const BAR_TITLE = "Total time as the pale bar, self time as the full one in it; the largest total fills the column.";
type HeadProps = {
  readonly column: StageColumn;
  readonly label: string;
  readonly unit?: string;
  readonly title?: string;
};

function Head({ column, ...rest }: HeadProps) {
  const { column: active, descending } = stageSort.value;
  const onSort = (): void => {
    stageSort.value = { column, descending: active === column ? !descending : !isWords(column) };
  };
  return (
    <SortHeader
      {...rest}
      {...{ descending, onSort }}
      name={column}
      active={active === column}
      numeric={!isWords(column)}
    />
  );
}

type StageHeadProps = {
  readonly units: Units;
  readonly known: Known;
  readonly waitTitle: string;
  readonly replay: string;
};

function StageHead({ units, known, waitTitle: title, replay }: StageHeadProps) {
  return (
    <thead>
      <tr>
        <Head column="name" label="Stage" />
        <th scope="col" class="bar-head">
          <Explained text={BAR_TITLE}>Total, self</Explained>
        </th>
        <Head column="blame_us" label="Data wait" unit={units.wait} title={title} />
        <Head column="wait_share" label="of data wait" title={`Share of the data wait. ${title}`} />
        <Head column="count" label="Calls" title={CALLS_TITLE} />
        <Head column="total_us" label="Total" unit={units.sums} title="With the time of nested stages" />
        <Head column="self_us" label="Self" unit={units.sums} title="Without the time of nested stages" />
        {known.limits && <Head column="limited_by" label="Limited by" title={LIMIT_TITLE} />}
        {known.bytes && <Head column="bytes_per_call" label="Size" unit={units.bytes.name} title={BYTES_TITLE} />}
        <Head column="p50_us" label="p50" unit={units.calls} title="Half of the calls are shorter" />
        <Head column="p95_us" label="p95" unit={units.calls} title="95 of 100 calls are shorter" />
        <Head column="max_us" label="Max" unit={units.calls} title="Longest call" />
        {known.replay && (
          <Head column="replay_mean_us" label="Replay, self per call" unit={units.replay} title={replayTitle(replay)} />
        )}
        {known.replay && <Head column="replay_ratio" label="Live / replay, per call" title={RATIO_TITLE} />}
      </tr>
    </thead>
  );
}

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
  const reason = noWaitReason(capture, stage);
  const show = (): void => {
    left = row.key;
    showStage(stageName(stage));
  };
  return (
    <tr class="choice" data-testid="stage-row" data-path={row.key} onClick={show}>
      <th scope="row" data-text={placeOf(stage)}>
        <StageName row={row} flat={flat} turn={() => turnFold(row.key)} />
      </th>
      <td class="stage-bars">
        <Bars stage={stage} largestUs={largestUs} />
      </td>
      <TimeCell column="blame_us" us={stage.blame_us} unit={units.wait} reason={reason} />
      <ShareCell
        share={stage.blame_us === undefined ? undefined : share(stage.blame_us, capture.loader?.wait_us)}
        reason={reason || "There was no data wait."}
      />
      <td class="num" data-column="count" data-value={stage.count}>
        {formatCount(stage.count)}
      </td>
      <TimeCell column="total_us" us={stage.total_us} unit={units.sums} reason="" />
      <TimeCell column="self_us" us={stage.self_us} unit={units.sums} reason="" />
      {known.limits && <LimitCell stage={stage} />}
      {known.bytes && <BytesCell stage={stage} unit={units.bytes} />}
      <TimeCell column="p50_us" us={stage.p50_us} unit={units.calls} reason="" />
      <TimeCell column="p95_us" us={stage.p95_us} unit={units.calls} reason="" />
      <TimeCell column="max_us" us={stage.max_us} unit={units.calls} reason="" />
      {known.replay && <ReplayCells stage={stage} unit={units.replay} />}
    </tr>
  );
}

/** For a copy of the table, which has no indentation: where the stage lies, and its name. */
function placeOf({ path }: Stage): string {
  const parts = path.filter((part, at) => at === path.length - 1 || !part.startsWith("wait::"));
  return parts.join(" > ");
}

function noWaitReason(capture: Capture, stage: Stage): string {
  if (stage.kind === "wait") return "This is the data wait that is passed on to the stages.";
  return reasonFor(capture, "wait_by_stage").message;
}

function turnFold(key: string): void {
  const next = new Set(stagesFolded.value);
  if (!next.delete(key)) next.add(key);
  stagesFolded.value = next;
}
