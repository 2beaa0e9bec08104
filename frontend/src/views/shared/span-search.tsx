// Spans of the timeline by their name: how many there are, and from one to the next.

import type { Place } from "../../model/chain";
import { formatCount, plural } from "../../model/format";
import type { TimelineModel } from "../../model/lanes";
import { type Asked, named, nextSpan, spansOf } from "../../model/spans";
import type { TimeRange } from "../../model/time-scale";
import { spanSearch } from "../../state/atoms";
import { goTo } from "./go-to";

type Props = {
  /** The finest slice at hand. */
  readonly model: TimelineModel;
  readonly whole: TimelineModel;
  readonly shown: TimeRange;
  /** The span that was gone to; null once another one was chosen. */
  readonly hit: Place | null;
  readonly setHit: (hit: Place | null) => void;
};

/** As fine as they are at hand: those of the whole window stand in around the finer slice. */
function spansIn(model: TimelineModel, whole: TimelineModel, asked: Asked): readonly Place[] {
  const fine = spansOf(model, asked);
  if (model === whole) return fine;
  const { startUs, endUs } = model.slice;
  const around = spansOf(whole, asked).filter((span) => span.endUs <= startUs || span.startUs >= endUs);
  return [...fine, ...around].sort((a, b) => a.startUs - b.startUs);
}

export function SpanSearch({ model, whole, shown, hit, setHit }: Props) {
  const text = spanSearch;
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const spans = words.length === 0 ? [] : spansIn(model, whole, named(words));
  const go = (turn: 1 | -1): void => {
    const next = nextSpan(spans, hit ?? shown, turn) ?? (turn > 0 ? spans[0] : spans.at(-1));
    if (next === undefined) return;
    setHit(next);
    goTo(next.startUs, next.endUs);
  };
  const write = (written: string): void => {
    text.value = written;
    setHit(null);
  };
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
      {words.length > 0 && (
        <>
          <button type="button" class="link" disabled={spans.length === 0} onClick={() => go(-1)}>
            Previous
          </button>
          <button type="button" class="link" disabled={spans.length === 0} onClick={() => go(1)}>
            Next
          </button>
          <span class="muted" role="status" data-testid="span-count" title="Spans joined into one box count as one.">
            {foundWords(spans, hit)}
          </span>
        </>
      )}
    </div>
  );
}

/** "12 of 663: transform::RandomCrop". */
function foundWords(spans: readonly Place[], hit: Place | null): string {
  if (hit === null) return plural(spans.length, "span");
  const at = spans.findIndex((span) => span.laneId === hit.laneId && span.startUs === hit.startUs);
  return at < 0 ? hit.name : `${formatCount(at + 1)} of ${formatCount(spans.length)}: ${hit.name}`;
}
