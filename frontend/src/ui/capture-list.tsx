import { type CaptureEntry, entryWords, fullName, groupByRun, modeMeaning } from "../model/captures";

type Props = {
  readonly captures: readonly CaptureEntry[];
  readonly current: CaptureEntry | null;
  /** On narrow screens the list is folded away. */
  readonly open: boolean;
  readonly turn: () => void;
  readonly choose: (id: string) => void;
};

/** The captures by run, newest first: a column beside the view, a fold above it on narrow screens. */
export function CaptureList({ captures, current, open, turn, choose }: Props) {
  if (captures.length === 0) return null;
  return (
    <nav class="captures" aria-label="Captures" data-open={open}>
      <button type="button" class="captures-toggle" aria-expanded={open} data-testid="captures-toggle" onClick={turn}>
        <span class="muted">Capture</span> {current === null ? "choose one" : fullName(current)}
        <span aria-hidden="true"> {open ? "▴" : "▾"}</span>
      </button>
      <div class="captures-list">
        <h2>Captures</h2>
        {groupByRun(captures).map((group) => (
          <section key={group.run}>
            <h3 title={group.run}>{group.run === "." ? "(log directory)" : group.run}</h3>
            <ul>
              {group.captures.map((item) => (
                <CaptureOption key={item.id} item={item} selected={item.id === current?.id} choose={choose} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </nav>
  );
}

type OptionProps = {
  readonly item: CaptureEntry;
  readonly selected: boolean;
  readonly choose: (id: string) => void;
};

function CaptureOption({ item, selected, choose }: OptionProps) {
  return (
    <li>
      <button
        type="button"
        class="capture"
        data-testid="capture-option"
        data-id={item.id}
        data-state={item.state}
        aria-current={selected ? "true" : undefined}
        title={`${item.name}\n${item.error ?? modeMeaning(item.mode)}`}
        onClick={() => choose(item.id)}>
        <span class="capture-name">{item.name}</span>
        <span class="capture-note">
          {entryWords(item)} ·{" "}
          <time dateTime={new Date(item.modified * 1000).toISOString()}>{whenWords(item.modified)}</time>
        </span>
      </button>
    </li>
  );
}

function whenWords(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toLocaleString(undefined, {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
}
