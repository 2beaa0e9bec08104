// Spans of the timeline by their name: how many there are, and from one to the next. All of them are asked for, not only
// those that are wide enough to be drawn.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { source } from "../../data/source";
import type { FoundSpan, FoundSpans, LaneScope, SpanPlace } from "../../data/spans";
import type { Place } from "../../model/chain";
import { formatCount, plural } from "../../model/format";
import type { TimeRange } from "../../model/time-scale";
import { spanSearch } from "../../state/atoms";
import { goTo, seek } from "./go-to";

type Props = {
  readonly id: string;
  readonly steps: string | null;
  /** The lanes on screen; the same value until they change. */
  readonly scope: LaneScope;
  readonly shown: TimeRange;
  /** What is searched: names that have each of these; the same value until others are written. */
  readonly words: readonly string[];
  /** Whether some are seen to be in rows that are folded away. */
  readonly inFolded: boolean;
  /** The span that was gone to; null once another one was chosen. */
  readonly hit: Place | null;
  readonly setHit: (hit: FoundSpan | null) => void;
};

export function SpanSearch({ id, steps, scope, shown, words, inFolded, hit, setHit }: Props) {
  const text = spanSearch;
  const found = useSignal<FoundSpans | null>(null);
  const failure = useSignal("");
  const pending = useRef<AbortController | null>(null);
  const isGoing = useRef(false);
  const ask = async (place: SpanPlace | null): Promise<void> => {
    pending.current?.abort();
    pending.current = new AbortController();
    const query = { id, steps, scope, words, place };
    const answer = await source().spans(query, pending.current.signal).catch(forgottenIfAborted);
    if (answer === null) return;
    failure.value = answer.kind === "failed" ? answer.message : "";
    found.value = answer.kind === "ready" ? answer.value : null;
    const span = found.value?.span ?? null;
    if (span === null) return;
    setHit(span);
    goTo(span.startUs, span.endUs);
    seek(span);
  };
  const at = hit !== null && hit === found.value?.span ? found.value.span.number : null;
  const go = (turn: 1 | -1): void => {
    if (isGoing.current || words.length === 0) return;
    const fromScreen = turn > 0 ? { fromUs: shown.startUs } : { beforeUs: shown.endUs };
    isGoing.current = true;
    void ask(at === null ? fromScreen : { number: at + turn }).finally(() => {
      isGoing.current = false;
    });
  };
  const write = (written: string): void => {
    text.value = written;
    setHit(null);
  };
  useEffect(() => {
    found.value = null;
    if (words.length > 0) void ask(null);
    return () => pending.current?.abort();
  }, [words, id, steps, scope]);
  return (
    <div class="search span-search">
      <input
        type="search"
        placeholder="Search spans"
        aria-label="Search spans of the timeline by name; Enter goes to the next one"
        data-testid="span-search"
        value={text.value}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape" && text.value !== "") {
            event.stopPropagation();
            write("");
          }
        }}
      />
      {failure.value !== "" && <span class="muted">{failure.value}</span>}
      {found.value !== null && <Found found={found.value} at={at} inFolded={inFolded} go={go} />}
    </div>
  );
}

function forgottenIfAborted(error: unknown): null {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}

type FoundProps = Pick<Props, "inFolded"> & {
  readonly found: FoundSpans;
  readonly at: number | null;
  readonly go: (turn: 1 | -1) => void;
};

function Found({ found, at, inFolded, go }: FoundProps) {
  const name = found.span?.name ?? "";
  const { count, undrawn } = found;
  return (
    <>
      <button type="button" class="link" disabled={count === 0} onClick={() => go(-1)}>
        Previous
      </button>
      <button type="button" class="link" disabled={count === 0} onClick={() => go(1)}>
        Next
      </button>
      <span
        class="muted"
        role="status"
        data-testid="span-count"
        title={inFolded ? `${whatCounts(found)} ${HOW_FOLDED}` : whatCounts(found)}>
        {at === null
          ? countWords(found) + (inFolded ? FOLDED : "")
          : `${formatCount(at + 1)} of ${formatCount(count)}: ${name}`}
        {undrawn > 0 && `; ${formatCount(undrawn)} more ${undrawn === 1 ? "is" : "are"} not drawn`}
      </span>
    </>
  );
}

const FOLDED = ", some in folded lanes";
const HOW_FOLDED =
  "Next and Previous open the folded lane that they lead to. In folded lanes batches stay in full where such a span is drawn in the rows below; of short spans that are joined into one box there, only the longest has its name.";

function countWords({ count, isDrawnOnly }: FoundSpans): string {
  return plural(count, "span") + (isDrawnOnly ? " wide enough to be drawn" : "");
}

function whatCounts({ undrawn, isDrawnOnly }: FoundSpans): string {
  if (isDrawnOnly)
    return "This page has the picture of the window: where short spans are joined into one box, only the longest has its name.";
  const counted = "Spans that begin in the window.";
  return undrawn === 0
    ? counted
    : `${counted} Of operators only the outermost are drawn, of threads only those with a lane.`;
}
