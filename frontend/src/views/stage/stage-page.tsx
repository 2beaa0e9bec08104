import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Capture, Stage, StageDetail } from "../../contract/report";
import { callKey, placeOfCall } from "../../model/calls";
import type { Place } from "../../model/chain";
import { limitOf } from "../../model/costs";
import { findingKey } from "../../model/findings";
import { chosenMeasure, flameParts } from "../../model/flame-parts";
import { formatCount } from "../../model/format";
import { reasonFor } from "../../model/reasons";
import { shareWords } from "../../model/shares";
import { stageName } from "../../model/stage-tree";
import { showFlame, showStage } from "../../state/actions";
import { flameMeasure, selectedCall, timeline } from "../../state/atoms";
import { FindingItem } from "../../ui/finding";
import { asDuration, BigNumber, NumberRow } from "../../ui/numbers";
import { Prose } from "../../ui/prose";
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
          <Prose text={detail.sentence} />
        </p>
      )}
      <StageNumbers capture={capture} rows={rows} detail={detail} />
      <BegunBefore rows={rows} />
      {capture.stage_summary?.note_texts
        .filter((note) => note.includes(name))
        .map((note) => (
          <p key={note} class="muted" data-testid="stage-note">
            {note}.
          </p>
        ))}
      <Limits rows={rows} />
      <ProfilerPart rows={rows} />
      <Findings capture={capture} name={name} />
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
          <Prose text={lines === undefined ? missingLines(capture) : lines.sentence || `${name}: ${lines.text}.`} />
        </p>
        {part !== undefined && <FlamePanel part={part} />}
      </section>
      {part !== undefined && lines !== undefined && (
        <HotLines lines={lines} measure={chosenMeasure(part, flameMeasure.value)} withTime={false} />
      )}
      <StageTimeline id={id} name={name} detail={detail} />
    </>
  );
}

/** What its self time was spent on, of each place that it is called in. */
function Limits({ rows }: { rows: readonly Stage[] }) {
  const limited = rows.filter((row) => row.limited_by_text !== "");
  if (limited.length === 0) return null;
  return (
    <section data-testid="stage-limits">
      <h2>Limited by</h2>
      {limited.map((row) => (
        <p key={row.path.join(" > ")} data-value={row.limited_by}>
          <strong>{limitOf(row)}.</strong> {limited.length > 1 && `${whereWords(row)}: `}
          <Prose text={row.limited_by_text} />
        </p>
      ))}
    </section>
  );
}

/** What its data wait has that none of its other numbers show, of each place that it is called in. */
function BegunBefore({ rows }: { rows: readonly Stage[] }) {
  const begun = rows.filter((row) => row.before_text !== "");
  return begun.map((row) => (
    <p key={row.path.join(" > ")} data-testid="stage-before">
      {rows.length > 1 && `${whereWords(row)}: `}
      <Prose text={row.before_text} />
    </p>
  ));
}

/** How much of it is recording, of each place that it is called in. */
function ProfilerPart({ rows }: { rows: readonly Stage[] }) {
  const recorded = rows.filter((row) => row.profiler_text !== "");
  return recorded.map((row) => (
    <p key={row.path.join(" > ")} class="muted" data-testid="stage-profiler">
      {recorded.length > 1 && `${whereWords(row)}: `}
      <Prose text={row.profiler_text} />
    </p>
  ));
}

/** What the report would change in this stage: who asks why it is slow need not look elsewhere. */
function Findings({ capture, name }: { capture: Capture; name: string }) {
  const own = capture.findings.filter(({ stage }) => stage === name);
  if (own.length === 0) return null;
  return (
    <section data-testid="stage-findings">
      <h2>What to change</h2>
      <ol class="findings">
        {own.map((finding) => (
          <FindingItem
            key={findingKey(finding)}
            finding={finding}
            number={capture.findings.indexOf(finding) + 1}
            level="brief"
          />
        ))}
      </ol>
    </section>
  );
}

function missingLines(capture: Capture): string {
  return capture.lines === undefined
    ? reasonFor(capture, "lines").message
    : ["No stack was sampled in this stage.", ...capture.lines.unseen.map((each) => `${each}.`)].join(" ");
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
        label="Data wait it caused"
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

type TimelineProps = { readonly id: string; readonly name: string; readonly detail: StageDetail | undefined };

/** All lanes; the call that was chosen is framed, at first the slowest. */
function StageTimeline({ id, name, detail }: TimelineProps) {
  const calls = detail?.slowest ?? [];
  const call = calls.find((one) => callKey(one) === selectedCall.value) ?? calls[0];
  const whole = timeline.value.whole;
  const marked = useMemo<Place | null>(
    () => (call === undefined ? null : placeOfCall(call, name, whole)),
    [call, name, whole],
  );
  const selected = useMemo(() => (marked === null ? null : { startUs: marked.startUs, endUs: marked.endUs }), [marked]);
  return (
    <section>
      <TimelinePanel
        id={id}
        label={`Timeline of the capture. The table of the slowest calls above leads to calls of ${name} in it.`}
        selected={selected}
        marked={marked}
      />
    </section>
  );
}
