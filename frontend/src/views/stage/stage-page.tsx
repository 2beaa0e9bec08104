import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import type { Capture, Stage, StageDetail } from "../../contract/report";
import { chosenMeasure, flameParts } from "../../model/flame-parts";
import { formatCount } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { stageName } from "../../model/stage-tree";
import { showFlame, showStage } from "../../state/actions";
import { flameMeasure, markedSpan } from "../../state/atoms";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { FlamePanel } from "../flame/flame-panel";
import { HotLines } from "../flame/hot-lines";
import { TimelinePanel } from "../shared/timeline-panel";
import { CallHistogram } from "./call-histogram";
import { CallTrend } from "./call-trend";
import { SlowCalls } from "./slow-calls";

type Props = { readonly capture: Capture; readonly id: string; readonly name: string };

/** One stage, wherever it is called: how its calls spread, which were slow, which lines take the time. */
export function StagePage({ capture, id, name }: Props) {
  const rows = capture.stages.filter((stage) => stageName(stage) === name);
  const detail = capture.stage_details.find((one) => one.name === name);
  const part = flameParts(capture).find(({ key }) => key === name);
  const lines = part?.lines;
  return (
    <>
      <StageHead name={name} rows={rows} />
      {detail === undefined ? (
        <p class="muted">Only the stages with the most time have details.</p>
      ) : (
        <p class="sentence" data-testid="detail-sentence">
          {detail.sentence}
        </p>
      )}
      <StageNumbers capture={capture} rows={rows} detail={detail} />
      {detail !== undefined && (
        <div class="columns">
          <CallHistogram detail={detail} kind={name.split("::")[0] ?? ""} />
          <CallTrend
            detail={detail}
            kind={name.split("::")[0] ?? ""}
            windowUs={capture.window_us}
            startUs={capture.window_start_us}
          />
        </div>
      )}
      {detail !== undefined && <SlowCalls detail={detail} />}
      <section>
        <div class="table-head">
          <h2>Lines of the code</h2>
          {part !== undefined && (
            <button type="button" class="link" data-testid="to-flame" onClick={() => showFlame(name)}>
              Open in Flame graph
            </button>
          )}
        </div>
        <p class="muted" data-testid="stage-lines">
          {lines === undefined ? missingLines(capture) : lines.sentence || `${name}: ${lines.text}.`}
        </p>
        {part !== undefined && <FlamePanel part={part} />}
      </section>
      {part !== undefined && lines !== undefined && (
        <HotLines lines={lines} ofAllTime={chosenMeasure(part, flameMeasure.value) !== "all"} />
      )}
      <StageTimeline id={id} name={name} />
    </>
  );
}

function missingLines(capture: Capture): string {
  return capture.lines === undefined ? reasonFor(capture, "lines").message : "No stack was sampled in this stage.";
}

function StageHead({ name, rows }: { name: string; rows: readonly Stage[] }) {
  const places = [...new Set(rows.map((row) => row.defined_at).filter(Boolean))];
  const heading = useRef<HTMLHeadingElement>(null);
  // What led here is gone, and the focus with it.
  useEffect(() => {
    if (document.activeElement === null || document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, [name]);
  return (
    <div class="stage-page-head">
      <nav aria-label="Stages" class="crumbs">
        <button type="button" class="link" data-testid="all-stages" onClick={() => showStage(null)}>
          All stages
        </button>
        <h2 ref={heading} tabIndex={-1} class="mono" data-testid="stage-page" data-stage={name}>
          {name}
        </h2>
      </nav>
      <p class="muted">
        {rows
          .map((row) => whereWords(row))
          .filter((words, index, all) => all.indexOf(words) === index)
          .join("; ")}
        {places.length > 0 && (
          <>
            {" "}
            · defined at <span class="mono">{places.join(", ")}</span>
          </>
        )}
      </p>
    </div>
  );
}

function whereWords({ path }: Stage): string {
  const around = path.slice(0, -1).filter((part) => !part.startsWith("wait::"));
  return around.length === 0 ? "outermost stage" : `in ${around.join(" › ")}`;
}

type NumbersProps = {
  readonly capture: Capture;
  readonly rows: readonly Stage[];
  readonly detail: StageDetail | undefined;
};

function StageNumbers({ capture, rows, detail }: NumbersProps) {
  const sum = (of: (row: Stage) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const knowsWait = rows.some((row) => row.blame_us !== undefined);
  const waitUs = knowsWait ? sum((row) => row.blame_us ?? 0) : undefined;
  const selfUs = sum((row) => row.self_us);
  return (
    <NumberRow>
      <BigNumber
        label="Data wait"
        testId="number-stage-wait"
        {...asDuration(waitUs)}
        note={`${shareWords(waitUs ?? 0, capture.loader?.wait_us)} of the data wait`}
        reason={reasonFor(capture, "wait_by_stage")}
      />
      <BigNumber
        label="Self time"
        testId="number-stage-self"
        {...asDuration(selfUs)}
        note={`${shareWords(selfUs, capture.stage_summary?.self_us)} of all stages`}
      />
      <BigNumber
        label="Calls"
        testId="number-stage-calls"
        value={sum((row) => row.count)}
        text={formatCount(sum((row) => row.count))}
        note="that started in the window"
      />
      {detail !== undefined && (
        <>
          <BigNumber label="p50" testId="number-stage-p50" {...asDuration(detail.p50_us)} note="half are shorter" />
          <BigNumber
            label="p95"
            testId="number-stage-p95"
            {...asDuration(detail.p95_us)}
            note="95 of 100 are shorter"
          />
          <BigNumber label="Max" testId="number-stage-max" {...asDuration(detail.max_us)} note="longest call" />
        </>
      )}
    </NumberRow>
  );
}

/** All lanes; the call that was chosen is framed. */
function StageTimeline({ id, name }: { id: string; name: string }) {
  const marked = markedSpan.value;
  const selected = useMemo(() => (marked === null ? null : { startUs: marked.startUs, endUs: marked.endUs }), [marked]);
  const keep = useCallback(() => true, []);
  return (
    <section>
      <TimelinePanel
        id={id}
        label={`Timeline of the capture. The table of the slowest calls above leads to calls of ${name} in it.`}
        keep={keep}
        selected={selected}
        marked={marked}
      />
    </section>
  );
}
