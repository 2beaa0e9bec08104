import type { CaptureEntry } from "../data/runs";
import { entryWords, fullName, groupByRun, MODE_MEANING } from "../model/captures";
import { selectCapture } from "../state/actions";
import { captureId, capturesOpen, entry, runs } from "../state/atoms";

/** The captures by run, newest first: a column beside the view, a fold above it on narrow screens. */
export function CaptureList() {
  const list = runs.value?.captures ?? [];
  const current = entry.value;
  if (list.length === 0) return null;
  return (
    <nav class="captures" aria-label="Captures" data-open={capturesOpen.value}>
      <button
        type="button"
        class="captures-toggle"
        aria-expanded={capturesOpen.value}
        data-testid="captures-toggle"
        onClick={() => (capturesOpen.value = !capturesOpen.value)}>
        <span class="muted">Capture</span> {current === null ? "choose one" : fullName(current)}
        <span aria-hidden="true"> {capturesOpen.value ? "▴" : "▾"}</span>
      </button>
      <div class="captures-list">
        <h2>Captures</h2>
        {groupByRun(list).map((group) => (
          <section key={group.run}>
            <h3 title={group.run}>{group.run === "." ? "(log directory)" : group.run}</h3>
            <ul>
              {group.captures.map((item) => (
                <CaptureOption key={item.id} item={item} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </nav>
  );
}

function CaptureOption({ item }: { item: CaptureEntry }) {
  const selected = item.id === captureId.value;
  return (
    <li>
      <button
        type="button"
        class="capture"
        data-testid="capture-option"
        data-id={item.id}
        data-state={item.state}
        aria-current={selected ? "true" : undefined}
        title={`${item.name}\n${item.error ?? MODE_MEANING[item.mode ?? ""] ?? ""}`}
        onClick={() => selectCapture(item.id)}>
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
