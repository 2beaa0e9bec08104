import { useEffect, useRef } from "preact/hooks";
import type { Capture, Gap } from "../../contract/report";
import { source } from "../../data/source";
import { asCause, causeLabel, causeParts } from "../../model/causes";
import { batchOfChain, type ChainRow, chainRows, noWaitWords, queueWords, stageShareWords } from "../../model/chain";
import { exactPosition, exactUs, formatDuration } from "../../model/format";
import { shareWords } from "../../model/shares";
import type { TimeRange } from "../../model/time-scale";
import { selectView } from "../../state/actions";
import { chainLink, range, selectedGapUs, sought, timeline } from "../../state/atoms";
import { isElsewhere } from "../../ui/elsewhere";
import { Unknown } from "../../ui/numbers";
import { ShareBar } from "../../ui/share-bar";
import { scrollToSee } from "../../ui/sight";
import { Swatch } from "../../ui/swatch";
import { marksOnScreen } from "../shared/go-to";
import { seekBatch } from "../workers/show-batch";
import { showGap, showLink, turnToGap } from "./show-gap";

type Props = {
  readonly capture: Capture;
  readonly gaps: readonly Gap[];
  readonly gap: Gap;
  /** Lane of the gaps in the timeline. */
  readonly laneId: string;
  /** The link of its chain that the timeline has marked. */
  readonly marked: TimeRange | null;
};

/** What led to one gap: its causes, and the chain back to the sample or to the operator. */
export function GapDetail({ capture, gaps, gap, laneId, marked }: Props) {
  const parts = causeParts(gap.idle_by_cause_us);
  const batch = batchOfChain(capture, gap);
  const section = useSought(gap);
  const openTrace = (): void => {
    selectedGapUs.value = gap.start_us;
    selectView("trace");
  };
  const openBatch = (): void => {
    selectView("workers");
    if (batch !== null) seekBatch(batch);
  };
  return (
    <section
      ref={section}
      class="gap-detail"
      data-testid="gap-detail"
      data-start-us={gap.start_us}
      aria-labelledby="gap-detail-title">
      <div class="table-head">
        <h2 id="gap-detail-title">
          Why the device was idle for{" "}
          <span class="tabular" data-value={gap.duration_us} title={exactUs(gap.duration_us)}>
            {formatDuration(gap.duration_us)}
          </span>
          {gap.step !== undefined && ` in step ${gap.step}`}
        </h2>
        <Turn gaps={gaps} gap={gap} />
        {source().live && (
          <button type="button" class="link" data-testid="gap-perfetto" onClick={openTrace}>
            Open in Perfetto at this gap
          </button>
        )}
        {batch !== null && (
          <button type="button" class="link" data-testid="chain-batch" onClick={openBatch}>
            Batch {batch.number} in DataLoader workers
          </button>
        )}
      </div>
      <Elsewhere gap={gap} marked={marked} />
      <ShareBar
        parts={
          parts.length > 0
            ? parts
            : [{ name: causeLabel(asCause(gap.cause)), us: gap.duration_us, token: `idle:${asCause(gap.cause)}` }]
        }
        wholeUs={gap.duration_us}
        of="the gap"
        testId="gap-causes">
        <ul class="legend gap-legend">
          {parts.map((part) => (
            <li
              key={part.cause}
              data-testid="gap-cause"
              data-cause={part.cause}
              data-value-us={part.us}
              title={exactUs(part.us)}>
              <Swatch token={part.token} />
              {part.name}{" "}
              <span class="tabular">
                {formatDuration(part.us)}, {shareWords(part.us, gap.duration_us)} of the gap
              </span>
            </li>
          ))}
        </ul>
      </ShareBar>
      <Chain rows={chainRows(gap, laneId)} gap={gap} />
      <Absent
        rows={chainRows(gap, laneId)}
        notes={[
          queueWords(gap),
          stageShareWords(gap),
          filesWords(gap),
          noWaitWords(gap),
          cutWords(capture, gap),
        ].filter(Boolean)}
      />
    </section>
  );
}

/** Keys and hands move the timeline and choose no gap. */
function Elsewhere({ gap, marked }: Pick<Props, "gap" | "marked">) {
  const shown = range.value;
  const isShown = (from: number, to: number): boolean => shown === null || (from <= shown.endUs && to >= shown.startUs);
  if (isShown(gap.start_us, gap.start_us + gap.duration_us)) return null;
  if (marked !== null && isShown(marked.startUs, marked.endUs)) return null;
  return (
    <p role="status" data-testid="gap-elsewhere">
      This gap is not in what the timeline shows.{" "}
      <button type="button" class="link" data-testid="gap-show" onClick={() => showGap(gap)}>
        Show it there
      </button>
    </p>
  );
}

/** The page scrolls there for keys that go from gap to gap: with the gap's lane above it where there is room. */
function useSought(gap: Gap) {
  const section = useRef<HTMLElement>(null);
  const isSought = sought.value?.where === "explanation" ? sought.value : null;
  const { detail } = timeline.value;
  useEffect(() => {
    if (isSought === null || section.current === null) return;
    const { top, bottom, height } = section.current.getBoundingClientRect();
    const lanes = marksOnScreen.current().map(({ topPx }) => ({ topPx, heightPx: bottom - topPx }));
    scrollToSee([...lanes, { topPx: top, heightPx: height }]);
  }, [isSought, gap, detail]);
  return section;
}

/** The file to look at, where the sample is one of the slowest. */
function filesWords({ chain }: Gap): string {
  if (chain === undefined || chain.files.length === 0) return "";
  return `Sample ${chain.sample_index} was read from ${chain.files.join(", ")}.`;
}

/** Nanoseconds are the finest that a trace knows. */
const SAME_US = 1e-3;

/** Where the window cuts a gap, it was longer than anybody knows. */
function cutWords({ window_start_us: startUs, window_us: us }: Capture, gap: Gap): string {
  const isFirst = gap.start_us - startUs < SAME_US;
  const isLast = us !== undefined && startUs + us - (gap.start_us + gap.duration_us) < SAME_US;
  if (!isFirst && !isLast) return "";
  const which = isFirst ? (isLast ? "begins and ends" : "begins") : "ends";
  return `Cut: the gap ${which} with the window, so it may have been longer.`;
}

/** Why links are absent, each reason once, and what else to know. It keeps its place where nothing is. */
function Absent({ rows, notes }: { rows: readonly ChainRow[]; notes: readonly string[] }) {
  const labels = new Map<string, string[]>();
  for (const { label, reason, place } of rows)
    if (place === null) labels.set(reason, [...(labels.get(reason) ?? []), label]);
  return (
    <ul class="muted chain-absent" data-testid="chain-absent">
      {[...labels].map(([reason, names]) => (
        <li key={reason}>
          {names.join(", ")}: {reason}
        </li>
      ))}
      {notes.map((note) => (
        <li key={note} data-testid="gap-note">
          {note}
        </li>
      ))}
    </ul>
  );
}

/** From gap to gap, largest first; also by keys, as the timeline's go from gap to gap in time. */
function Turn({ gaps, gap }: { gaps: readonly Gap[]; gap: Gap }) {
  const at = gaps.indexOf(gap);
  const [before, after] = [gaps[at - 1], gaps[at + 1]];
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const next = event.shiftKey ? before : after;
      if (event.key.toLowerCase() !== "l" || isElsewhere(event)) return;
      event.preventDefault();
      if (next !== undefined) turnToGap(next);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [before, after]);
  return (
    <div class="toggle" role="group" aria-label="Other gaps, by length">
      <button
        type="button"
        class="link"
        data-testid="longer-gap"
        disabled={before === undefined}
        onClick={() => before !== undefined && showGap(before)}>
        next longer
      </button>
      <button
        type="button"
        class="link"
        data-testid="shorter-gap"
        disabled={after === undefined}
        onClick={() => after !== undefined && showGap(after)}>
        next shorter
      </button>
    </div>
  );
}

/** Side by side as one leads to the next; absent links keep their place. */
function Chain({ rows, gap }: { rows: readonly ChainRow[]; gap: Gap }) {
  return (
    <ol
      class="chain"
      data-testid="chain"
      aria-label="From the gap back to its origin; each link shows its place in the timeline">
      {rows.map((row) => (
        <LinkItem key={row.key} row={row} gap={gap} />
      ))}
    </ol>
  );
}

function LinkItem({ row, gap }: { row: ChainRow; gap: Gap }) {
  const { key, label, name, startUs, durationUs, insideUs, place, reason } = row;
  const current = (chainLink.value ?? "gap") === key;
  // A file may lack the timeline of a capture: then no link leads anywhere.
  const leads = timeline.value.whole !== null || timeline.value.error === null;
  const when =
    startUs === undefined || durationUs === undefined
      ? ""
      : `\nstarts at ${exactPosition(startUs)}, takes ${exactUs(durationUs)}`;
  return (
    <li data-testid="chain-row" data-link={key} data-known={place !== null} aria-current={current ? "true" : undefined}>
      <span class="chain-label">{label}</span>
      {place === null && name === "" ? (
        <span class="chain-name">
          <Unknown reason={reason} />
        </span>
      ) : place === null || !leads ? (
        <span class="chain-name" title={place === null ? reason : `${name}${when}`}>
          {name}
        </span>
      ) : (
        <button
          type="button"
          class="link chain-name"
          data-testid="chain-link"
          title={`${name}${when}`}
          onClick={() => showLink(gap, row)}>
          {name}
        </button>
      )}
      {insideUs === undefined ? (
        <span class="chain-note tabular" data-value-us={durationUs}>
          {durationUs === undefined ? "" : formatDuration(durationUs)}
        </span>
      ) : (
        <span class="chain-note tabular" data-value-us={insideUs} title={`${name}${when}`}>
          {formatDuration(insideUs)} of the gap
        </span>
      )}
    </li>
  );
}
