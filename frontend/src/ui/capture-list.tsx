import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import {
  asBefore,
  type CaptureEntry,
  entryWords,
  fullName,
  groupByRun,
  isoTime,
  modeMeaning,
  shortName,
  whenOf,
} from "../model/captures";
import { containsAll } from "../model/rows";
import { Breakable } from "./breakable";
import { SearchField } from "./search-field";

type Props = {
  readonly captures: readonly CaptureEntry[];
  /** "newest first" */
  readonly order: string;
  readonly current: CaptureEntry | null;
  /** The words that it is narrowed to. */
  readonly search: Signal<string>;
  /** On narrow screens the list is folded away. */
  readonly open: boolean;
  readonly turn: () => void;
  readonly choose: (id: string) => void;
};

const KEYS: Readonly<Record<string, (at: number, last: number) => number>> = {
  ArrowDown: (at, last) => Math.min(last, at + 1),
  ArrowUp: (at) => Math.max(0, at - 1),
  Home: () => 0,
  End: (_, last) => last,
};

/** From one capture to another by keys: the list is one tab stop. */
function walk(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const options = [...event.currentTarget.querySelectorAll<HTMLElement>("button.capture")];
  const at = options.indexOf(event.target as HTMLElement);
  const next = at < 0 ? undefined : options[KEYS[event.key]?.(at, options.length - 1) ?? -1];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** With more captures than this their list can be searched. */
const SEARCHED = 8;

/** The captures by run, in the order given: a column beside the view, a fold above it on narrow screens. */
export function CaptureList({ captures: given, order, current, search, open, turn, choose }: Props) {
  const focused = useSignal<string | null>(null);
  const isUnderPointer = useSignal(false);
  const stood = useRef<readonly string[]>([]);
  // A capture that is read may turn out older than its file: it goes to its place once nobody is about to click.
  const captures = isUnderPointer.value ? asBefore(given, stood.current) : given;
  stood.current = captures.map(({ id }) => id);
  if (captures.length === 0) return null;
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = captures.filter((item) => containsAll(`${fullName(item)} ${entryWords(item)}`.toLowerCase(), words));
  const stop = [focused.value, current?.id, shown[0]?.id].find((id) => shown.some((item) => item.id === id));
  return (
    <nav class="captures" aria-label="Captures" data-open={open}>
      <button type="button" class="captures-toggle" aria-expanded={open} data-testid="captures-toggle" onClick={turn}>
        <span class="muted">Capture</span>{" "}
        <span class="captures-toggle-name">{current === null ? "choose one" : briefName(current)}</span>
        <span aria-hidden="true">{open ? "▴" : "▾"}</span>
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys come from the buttons inside */}
      <div
        class="captures-list"
        onKeyDown={walk}
        onPointerEnter={() => (isUnderPointer.value = true)}
        onPointerLeave={() => (isUnderPointer.value = false)}>
        <h2>
          Captures <span class="muted">{order}</span>
        </h2>
        {(captures.length > SEARCHED || words.length > 0) && (
          <p class="captures-search">
            <SearchField label="Search this list" text={search} shown={shown.length} all={captures.length} />
          </p>
        )}
        {groupByRun(shown).map((group) => (
          <section key={group.run}>
            <h3 title={group.run}>{group.run === "." ? "(log directory)" : <Breakable name={group.run} />}</h3>
            <ul>
              {group.captures.map((item) => (
                <CaptureOption
                  key={item.id}
                  item={item}
                  selected={item.id === current?.id}
                  isStop={item.id === stop}
                  choose={choose}
                  onFocus={() => (focused.value = item.id)}
                />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </nav>
  );
}

/** As the list has it: without the time of capture, which stands beside it there. */
function briefName(item: CaptureEntry): string {
  const { start, end } = shortName(item.name);
  return fullName({ ...item, name: `${start}${end}` });
}

type OptionProps = {
  readonly item: CaptureEntry;
  readonly selected: boolean;
  /** Whether the Tab key stops here. */
  readonly isStop: boolean;
  readonly onFocus: () => void;
  readonly choose: (id: string) => void;
};

function CaptureOption({ item, selected, isStop, choose, onFocus }: OptionProps) {
  const { start, end } = shortName(item.name);
  const when = whenOf(item);
  const ref = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (selected && ref.current !== null) showInList(ref.current);
  }, [selected]);
  return (
    <li>
      <button
        ref={ref}
        type="button"
        class="capture"
        data-testid="capture-option"
        data-id={item.id}
        data-state={item.state}
        aria-current={selected ? "true" : undefined}
        tabIndex={isStop ? 0 : -1}
        title={[item.name, item.error ?? modeMeaning(item.mode), when?.title].filter(Boolean).join("\n")}
        onFocus={onFocus}
        onClick={() => choose(item.id)}>
        <span class="capture-name">
          <span class="capture-name-start">{start}</span>
          <span class="capture-name-end">{end}</span>
        </span>
        <span class="capture-note">
          {entryWords(item)}
          {when !== null && (
            <>
              {" · "}
              <time dateTime={isoTime(when.unixMs)}>{when.words}</time>
            </>
          )}
        </span>
      </button>
    </li>
  );
}

/** The list scrolls by itself; the page stays where it is. */
function showInList(option: HTMLElement): void {
  const list = option.closest(".captures-list");
  if (list === null) return;
  const [own, frame] = [option.getBoundingClientRect(), list.getBoundingClientRect()];
  if (own.top >= frame.top && own.bottom <= frame.bottom) return;
  list.scrollTop += own.top - frame.top - frame.height / 2;
}
